"""The measuring server: a process that forks one child a trial and watches over all of them.

Started by ``server_process`` as ``python -m tunesmith.measure.local.server DESCRIPTOR FOLDER``. It
is single-threaded, and forks from a state in which TVM is loaded but has run nothing. It takes one
job after another. It ends when its client is gone, and nothing of it stays.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from tunesmith.compiler.importing import load_compiler
from tunesmith.compiler.thread_pool import set_pool_threads
from tunesmith.errors import describe
from tunesmith.measure.activity import Activity
from tunesmith.measure.devices.device import Device
from tunesmith.measure.failure import Verdict
from tunesmith.measure.gpu.process import GpuPool, GpuTrial
from tunesmith.measure.local.pool_scheduler import PoolScheduler
from tunesmith.measure.local.scheduler import Scheduler
from tunesmith.measure.milestones import reached
from tunesmith.measure.processes.channel import Channel, ChannelClosedError, Message
from tunesmith.measure.processes.containment import adopt_orphans, kill_orphans, memory_status
from tunesmith.measure.trial.job import Job
from tunesmith.measure.trial.prepared import Prepared
from tunesmith.measure.trial.process import TrialProcess
from tunesmith.measure.trial.request import Request
from tunesmith.measurement import REPEATED, Outcome

# How often to look whether the client is still there, where the end of file does not show because
# another process has inherited its end of the connection; in seconds.
_LOOK_UP = 1.0

T = TypeVar("T", bound=TrialProcess)

_CANCELLED = Verdict(Outcome.UNKNOWN_ERROR, "cancelled")


class Server:
    """Takes requests from a channel and answers with measurements.

    It works for its parent, the process ``client_pid``.
    """

    def __init__(self, prepared: Prepared, client: Channel, client_pid: int) -> None:
        self._prepared = prepared
        self._client = client
        self._client_pid = client_pid
        self._own_memory = memory_status("RssAnon")
        self._selector = selectors.DefaultSelector()
        self._activity = Activity.IDLE
        self._pool = self.make_pool()
        self._scheduler = self._make_scheduler()
        # What came of programs that were valid. Many configs differ in what changes nothing.
        self._measured: dict[str, Verdict] = {}
        # What the client said from the next job on, which ends this one.
        self._of_next_job: list[dict[str, Any]] = []

    def make_pool(self) -> Any:
        """What runs programs that do not run where they are built; see ``GpuPool``."""
        return GpuPool(self._prepared, self._watch, self._selector.unregister)

    def make_scheduler(self, **settings: Any) -> Scheduler[Any] | PoolScheduler[Any]:
        """What decides what happens next."""
        if self._prepared.job.target.kind == "cuda":
            start = partial(self._start_trial, GpuTrial)
            return PoolScheduler(pool=self._pool, start=start, **settings)
        return Scheduler(start=partial(self._start_trial, TrialProcess), **settings)

    def _make_scheduler(self) -> Scheduler[Any] | PoolScheduler[Any]:
        job = self._prepared.job

        def on_run(trial: TrialProcess) -> None:
            self._tell("running", id=trial.request.id)
            reached("server: a run begins")

        settings: dict[str, Any] = {
            "on_run": on_run,
            "workers": job.workers,
            "cut_off": job.settings.cut_off,
        }
        return self.make_scheduler(**settings)

    def serve(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Work until the client is gone or has another job, then kill what is left.

        ``messages`` are what the client has said already; returned is what it said from the next
        job on, nothing if it is gone. Raises ``OSError`` if the system does not let a process be
        made.
        """
        self._selector.register(self._client, selectors.EVENT_READ, self._hear_client)
        try:
            self._take(messages)
            while os.getppid() == self._client_pid and not self._of_next_job:
                self._scheduler.advance()
                self._tell_activity()
                self._wait_for_something()
                for trial in self._scheduler.live:
                    if trial.time_left <= 0.0:
                        trial.time_out()
        except ChannelClosedError:
            return []
        finally:
            self._end_all()
            self._selector.close()
        return self._of_next_job

    def _take(self, messages: Sequence[Message]) -> None:
        for message in messages:
            if self._of_next_job or message["kind"] == "job":
                self._of_next_job.append(dict(message))
            else:
                self.obey(message)

    def obey(self, message: Message) -> None:
        """Do what the client says: measure more, or give up some of it."""
        if message["kind"] == "measure":
            requests = (Request(**request) for request in message["requests"])
            self._scheduler.submit(requests, message["best"])
        else:
            ids = frozenset(message["ids"])
            self._scheduler.cancel(ids)
            for trial in self._scheduler.live:
                if trial.request.id in ids:
                    trial.cancel(_CANCELLED)

    def _wait_for_something(self) -> None:
        """Wait for the next message, end of a process or deadline, and take it in."""
        writing = selectors.EVENT_WRITE if self._client.unsent else 0
        self._selector.modify(self._client, selectors.EVENT_READ | writing, self._hear_client)
        deadlines = [trial.time_left for trial in self._scheduler.live]
        wait = min(_LOOK_UP, self._scheduler.wait_left, *deadlines)
        for key, _ in self._selector.select(max(0.0, wait)):
            key.data()

    def _hear_client(self) -> None:
        self._client.flush()
        self._take(self._client.receive())

    def _tell(self, kind: str, **content: object) -> None:
        self._client.send({"kind": kind, **content})

    def _tell_activity(self) -> None:
        activity = self._scheduler.activity
        if activity is not self._activity:
            self._activity = activity
            self._tell("activity", activity=activity, at=time.monotonic())

    # -- trials ----------------------------------------------------------------------------------

    def _start_trial(self, kind: type[T], request: Request) -> T:
        # First, for whose fault it is if the build ends this process.
        self._tell("building", id=request.id)
        trial = kind(request, self._prepared, self._own_memory)
        self._watch(trial.channel, partial(self._hear, trial))
        self._watch(trial.handle, partial(self._on_exit, trial))
        reached("server: a build begins")
        return trial

    def _watch(self, descriptor: Any, hear: Callable[[], None]) -> None:
        """Call a function whenever something can be read from a descriptor."""
        self._selector.register(descriptor, selectors.EVENT_READ, hear)

    def _hear(self, trial: TrialProcess) -> None:
        # Its exit may have been the event before, in which case nothing is open any more.
        if trial not in self._scheduler.live:
            return
        trial.receive()
        known = self._measured.get(trial.program_hash)
        if known is not None and self._reuses(trial):
            trial.decide(replace(known, message=REPEATED))

    def _on_exit(self, trial: TrialProcess) -> None:
        """A trial's process has ended: tell the client what came of the trial."""
        self._selector.unregister(trial.channel)
        self._selector.unregister(trial.handle)
        verdict = trial.reap()
        if verdict.outcome is Outcome.NO_ERROR and self._reuses(trial):
            self._measured.setdefault(trial.program_hash, verdict)
        self._scheduler.end(trial, verdict.seconds)
        kill_orphans(but=self._pool.pids | {other.pid for other in self._scheduler.live})
        try:
            # First what happens next: the client has time to think while programs are built.
            self._scheduler.advance()
            self._tell_activity()
        finally:
            self._tell("measured", **trial.result())
        reached("server: a trial ends")

    def _reuses(self, trial: TrialProcess) -> bool:
        """Whether another trial of the same program need not be run. On a GPU what it takes of the
        device is told as well, and the state of the device."""
        request, job = trial.request, self._prepared.job
        again = job.settings.measure_again or request.rounds or request.build_only
        return job.target.kind == "cpu" and not again

    def _end_all(self) -> None:
        for trial in self._scheduler.live:
            trial.kill()
        for trial in self._scheduler.live:
            trial.reap()
        self._pool.end()
        kill_orphans()


def main(
    descriptor: int,
    scratch: str,
    make: Callable[[Prepared, Channel, int], Server] = Server,
    device: Device | None = None,
) -> int:
    """Prepare the job that the client sends, then serve. Returns the exit status.

    ``scratch`` is the folder of temporary files, which is removed in the end. ``make`` makes the
    server of a job. Programs are built for the job's target, or by ``device``.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a user's Ctrl-C is for the client to handle
    adopt_orphans()
    try:
        client = Channel(socket.socket(fileno=descriptor))
        return _serve(client, os.getppid(), make, device)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _serve(
    client: Channel,
    client_pid: int,
    make: Callable[[Prepared, Channel, int], Server],
    device: Device | None,
) -> int:
    """Do what the client says until it is gone, job by job. Returns the exit status."""
    try:
        reached("server: its own modules")
        load_compiler()  # before the job, which may import it too
        reached("server: compiler")
        messages: list[dict[str, Any]] = []
        while os.getppid() == client_pid:
            job = Job.from_text(_next(client, messages)["job"])
            set_pool_threads(job.target.core_count)
            reached("server: job and its sketches")
            with contextlib.closing(Prepared.of(job, device)) as prepared:
                reached("server: warm compiler, inputs, reference")
                client.send({"kind": "started"})
                messages = make(prepared, client, client_pid).serve(messages)
            if not messages:
                break
    except ChannelClosedError:
        return 0
    except Exception as error:
        with contextlib.suppress(ChannelClosedError):
            client.send({"kind": "failed", "message": describe(error)})
        return 1
    return 0


def _next(client: Channel, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Take the next message off those that have come, or wait for it."""
    while not messages:
        client.wait()
        messages += client.receive()
    return messages.pop(0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2]))
