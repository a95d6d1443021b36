"""The workers of this machine's GPUs as the server sees them, and the trials that they run."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tunesmith.errors import TunesmithError, one_line
from tunesmith.measure.failure import Verdict, describe_exit
from tunesmith.measure.gpu.worker import run_worker
from tunesmith.measure.processes.channel import ChannelClosedError, GarbledError, Message
from tunesmith.measure.processes.child import Child
from tunesmith.measure.trial.prepared import Prepared
from tunesmith.measure.trial.process import TrialProcess
from tunesmith.measure.trial.request import Phase
from tunesmith.measurement import Outcome

# How long a worker may take to get hold of its GPU, in seconds.
_START = 30.0


class GpuTrial(TrialProcess):
    """A trial whose own process builds, and then waits while a GPU's worker runs what it built.

    ``worker`` is set before it is told to run.
    """

    worker: WorkerProcess | None = None

    def cancel(self, verdict: Verdict) -> None:
        """What is running ends by itself, in less time than it takes to replace its worker."""
        if self.phase is not Phase.RUN:
            super().cancel(verdict)

    def wait_again(self) -> None:
        """Its GPU has gone while it was running: be ready for another one."""
        if self.verdict is None:
            self._get_ready()

    def _send(self, command: Message) -> None:
        assert self.worker is not None
        self.worker.run(self, command)


class WorkerProcess:
    """The process that has one GPU, and the trial that it is running.

    ``refusal`` is why it cannot use the GPU. A failure that leaves a worker of no more use is the
    trial's, unless the GPU itself has gone: so it counts once another worker has been able to take
    the GPU, which has it as its ``inheritance``. Raises ``OSError`` if the system does not let a
    process be made.
    """

    def __init__(
        self, prepared: Prepared, gpu: int, inheritance: tuple[GpuTrial, Message] | None = None
    ) -> None:
        self.gpu = gpu
        self.inheritance = inheritance
        self.ready = False
        self.refusal = ""
        self.trial: GpuTrial | None = None
        self.others: list[int] = []
        self.deadline = time.monotonic() + _START
        threads = prepared.job.target.core_count
        # Without a limit of memory: a context takes much of what would count, and uses little.
        self.child = Child(lambda end: run_worker(prepared, end, gpu), None, threads)
        self.ending = False
        self._known: set[int] = set()

    @property
    def free(self) -> bool:
        """Whether it could run something now."""
        return self.ready and not self.ending and self.trial is None

    def run(self, trial: GpuTrial, command: Message) -> None:
        """Run a trial's program."""
        self.trial = trial
        self._known.add(trial.request.id)
        with contextlib.suppress(ChannelClosedError):  # it is dying then, which shows by itself
            self.child.channel.send({**command, "id": trial.request.id, "code": trial.code})

    def forget(self, trial: GpuTrial) -> None:
        """The trial has ended. If it is still running here, nothing else would stop it."""
        if self.inheritance is not None and self.inheritance[0] is trial:
            self.inheritance = None
        if self.trial is trial:
            self.trial = None
            self.kill()
        elif trial.request.id in self._known:
            self._known.discard(trial.request.id)
            with contextlib.suppress(ChannelClosedError):
                self.child.channel.send({"kind": "forget", "id": trial.request.id})

    def receive(self) -> None:
        """Take over what it says."""
        try:
            for message in self.child.channel.receive():
                self._take(message)
        except ChannelClosedError:
            self.kill()
        except (AttributeError, GarbledError, KeyError, TypeError, ValueError):
            self.kill()  # a program may have written over its memory

    def kill(self) -> None:
        """End it; it takes a moment, in which it runs nothing more."""
        self.ending = True
        self.child.kill()

    def _take(self, message: Message) -> None:
        match message["kind"]:
            case "ready":
                self.ready = True
                self.others = [int(gpu) for gpu in message["gpus"] if int(gpu) != self.gpu]
                if self.inheritance is not None:
                    trial, failure = self.inheritance
                    self.inheritance = None
                    trial.take(failure)
            case "refused":
                self.refusal = one_line(str(message["message"]))
            case _ if self.trial is not None and message["id"] == self.trial.request.id:
                trial, self.trial = self.trial, None
                if message.get("broken"):
                    self.ending = True
                    self.inheritance = trial, message
                else:
                    trial.take(message)


class GpuPool:
    """A worker for each GPU of this machine that is as the first one; begun when it is needed.

    ``watch`` has a function called whenever something can be read from a descriptor, and
    ``unwatch`` ends that. Its methods raise ``TunesmithError`` if no GPU can be used any more.
    """

    def __init__(
        self,
        prepared: Prepared,
        watch: Callable[[Any, Callable[[], None]], object],
        unwatch: Callable[[Any], object],
    ) -> None:
        self._prepared = prepared
        self._watch = watch
        self._unwatch = unwatch
        self._workers: list[WorkerProcess] = []

    def begin(self) -> None:
        """Start the first worker, unless there is one. Raises ``OSError`` like it."""
        if not self._workers:
            self._start(0)

    @property
    def free(self) -> Iterator[WorkerProcess]:
        """Those that could run something now."""
        return (worker for worker in self._workers if worker.free)

    @property
    def running(self) -> bool:
        """Whether a GPU is in use."""
        return any(worker.trial is not None for worker in self._workers)

    @property
    def first(self) -> WorkerProcess | None:
        """The one for comparisons, which are fair on a single GPU only."""
        return self._workers[0] if self._workers else None

    @property
    def pids(self) -> set[int]:
        """Their processes."""
        return {worker.child.pid for worker in self._workers}

    @property
    def wait_left(self) -> float:
        """Seconds until one has taken too long to start; infinity if none starts."""
        starting = (worker for worker in self._workers if not (worker.ready or worker.ending))
        deadlines = [worker.deadline for worker in starting]
        return min(deadlines, default=math.inf) - time.monotonic()

    def forget(self, trial: GpuTrial) -> None:
        """A trial has ended."""
        for worker in self._workers:
            worker.forget(trial)

    def check_starts(self) -> None:
        """End workers that take too long to start."""
        for worker in self._workers:
            if not worker.ready and not worker.ending and time.monotonic() > worker.deadline:
                worker.refusal = f"GPU {worker.gpu} does not answer for {_START:g} s"
                worker.kill()

    def kill(self) -> set[int]:
        """Kill them all. Returns their processes, which are to be waited for."""
        for worker in self._workers:
            worker.kill()
        return self.pids

    def _start(self, gpu: int, inheritance: tuple[GpuTrial, Message] | None = None) -> None:
        worker = WorkerProcess(self._prepared, gpu, inheritance)
        self._workers.append(worker)
        self._workers.sort(key=lambda worker: worker.gpu)
        self._watch(worker.child.channel, partial(self._hear, worker))
        self._watch(worker.child.handle, partial(self._on_exit, worker))

    def _hear(self, worker: WorkerProcess) -> None:
        if worker not in self._workers:  # its death may have been the event before
            return
        worker.receive()
        if worker.ready:
            known = {one.gpu for one in self._workers}
            for gpu in worker.others:
                if gpu not in known:
                    self._start(gpu)
            worker.others = []

    def _on_exit(self, worker: WorkerProcess) -> None:
        """A worker has ended: so has its trial, and another one takes its place."""
        worker.receive()  # its last words, if it had any
        self._unwatch(worker.child.channel)
        self._unwatch(worker.child.handle)
        ended = worker.child.reap()
        self._workers.remove(worker)
        reason = worker.refusal or describe_exit(ended.status, ended.words)
        if worker.trial is not None and ended.status == 0:
            worker.trial.wait_again()  # it was of no use any more before it began with this one
        elif worker.trial is not None:
            worker.trial.decide(Verdict(Outcome.RUNTIME_DEVICE, reason))
        if worker.ready:
            self._start(worker.gpu, worker.inheritance)
        elif not self._workers:
            raise TunesmithError(worker.refusal or f"GPU {worker.gpu} cannot be used: {reason}")
        elif worker.inheritance is not None:
            worker.inheritance[0].wait_again()
