"""The server's side of GPU trials: the worker process of each GPU, and the trials they run."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from typing import Any

from tunesmith.errors import TunesmithError, one_line
from tunesmith.measure.failure import Verdict, describe_exit
from tunesmith.measure.gpu.worker import run_worker
from tunesmith.measure.processes.channel import ChannelClosedError, GarbledError, Message
from tunesmith.measure.processes.child import Child, Exit
from tunesmith.measure.trial.prepared import Prepared
from tunesmith.measure.trial.process import TrialProcess
from tunesmith.measure.trial.request import Phase
from tunesmith.measure.trial.workers import Workers
from tunesmith.measurement import Outcome

# How long a worker may take to initialise its GPU, in seconds.
_START = 30.0


class GpuTrial(TrialProcess):
    """A trial whose own process builds the program, and then waits while a GPU's worker runs it.

    ``worker`` must be set before ``run``.
    """

    worker: WorkerProcess | None = None

    def cancel(self, verdict: Verdict) -> None:
        """End the trial unless it is running: replacing its worker takes longer than the run."""
        if self.phase is not Phase.RUN:
            super().cancel(verdict)

    def wait_again(self) -> None:
        """Wait for another GPU, after the one it ran on was lost."""
        if self.verdict is None:
            self._get_ready()

    def _send(self, command: Message) -> None:
        assert self.worker is not None
        self.worker.run(self, command)


class WorkerProcess:
    """The process that uses a GPU, and the trial that it runs.

    ``error`` is the reason why it cannot use the GPU. A failure that breaks the worker is the
    trial's fault, unless the GPU itself was lost. So it is the ``pending_failure`` of the next
    worker, and delivered when that worker could initialise the GPU. Raises ``OSError`` if the
    system cannot create a process.
    """

    def __init__(
        self, prepared: Prepared, gpu: int, pending_failure: tuple[GpuTrial, Message] | None = None
    ) -> None:
        self.gpu = gpu
        self.pending_failure = pending_failure
        self.ready = False
        self.error = ""
        self.trial: GpuTrial | None = None
        self.others: list[int] = []
        self.deadline = time.monotonic() + _START
        threads = prepared.job.target.core_count
        # No memory limit: a context reserves much memory that it does not use.
        self.child = Child(lambda end: run_worker(prepared, end, gpu), None, threads)
        self.ending = False
        self._known: set[int] = set()

    @property
    def free(self) -> bool:
        """Whether it can run a trial now."""
        return self.ready and not self.ending and self.trial is None

    def run(self, trial: GpuTrial, command: Message) -> None:
        """Run a trial's program."""
        self.trial = trial
        self._known.add(trial.request.id)
        with contextlib.suppress(ChannelClosedError):  # it is dying: its ``handle`` will tell
            self.child.channel.send({**command, "id": trial.request.id, "code": trial.code})

    def forget(self, trial: GpuTrial) -> None:
        """Drop a trial that has ended. If it still runs here, only killing the worker stops it."""
        if self.pending_failure is not None and self.pending_failure[0] is trial:
            self.pending_failure = None
        if self.trial is trial:
            self.trial = None
            self.kill()
        elif trial.request.id in self._known:
            self._known.discard(trial.request.id)
            with contextlib.suppress(ChannelClosedError):
                self.child.channel.send({"kind": "forget", "id": trial.request.id})

    def receive(self) -> None:
        """Handle its messages."""
        try:
            for message in self.child.channel.receive():
                self._take(message)
        except ChannelClosedError:
            self.kill()
        except (AttributeError, GarbledError, KeyError, TypeError, ValueError):
            self.kill()  # a program may have corrupted its memory

    def kill(self) -> None:
        """Kill it; it gets no more trials."""
        self.ending = True
        self.child.kill()

    def _take(self, message: Message) -> None:
        match message["kind"]:
            case "ready":
                self.ready = True
                self.others = [int(gpu) for gpu in message["gpus"] if int(gpu) != self.gpu]
                if self.pending_failure is not None:
                    trial, failure = self.pending_failure
                    self.pending_failure = None
                    trial.take(failure)
            case "refused":
                self.error = one_line(str(message["message"]))
            case _ if self.trial is not None and message["id"] == self.trial.request.id:
                trial, self.trial = self.trial, None
                if message.get("broken"):
                    self.ending = True
                    self.pending_failure = trial, message
                else:
                    trial.take(message)


class GpuPool(Workers[WorkerProcess]):
    """A worker for each GPU of this machine that is of the first one's model, started on demand.

    Methods raise ``TunesmithError`` if no GPU can be used any more.
    """

    def __init__(
        self,
        prepared: Prepared,
        watch: Callable[[Any, Callable[[], None]], object],
        unwatch: Callable[[Any], object],
    ) -> None:
        super().__init__(watch, unwatch)
        self._prepared = prepared

    def begin(self) -> None:
        """Start the first worker if there is none. Raises ``OSError`` like ``WorkerProcess``."""
        if not self._workers:
            self._start(0)

    @property
    def first(self) -> WorkerProcess | None:
        """The worker for play-offs, which are fair on a single GPU only."""
        return self._workers[0] if self._workers else None

    @property
    def wait_left(self) -> float:
        """Seconds until the first start times out; infinity if no worker is starting."""
        starting = (worker for worker in self._workers if not (worker.ready or worker.ending))
        deadlines = [worker.deadline for worker in starting]
        return min(deadlines, default=math.inf) - time.monotonic()

    def forget(self, trial: GpuTrial) -> None:
        """Drop a trial that has ended."""
        for worker in self._workers:
            worker.forget(trial)

    def check_starts(self) -> None:
        """Kill workers that take too long to start."""
        for worker in self._workers:
            if not worker.ready and not worker.ending and time.monotonic() > worker.deadline:
                worker.error = f"GPU {worker.gpu} does not answer for {_START:g} s"
                worker.kill()

    def _start(self, gpu: int, pending_failure: tuple[GpuTrial, Message] | None = None) -> None:
        worker = WorkerProcess(self._prepared, gpu, pending_failure)
        self._add(worker)
        self._workers.sort(key=lambda worker: worker.gpu)

    def _heard(self, worker: WorkerProcess) -> None:
        if worker.ready:
            known = {one.gpu for one in self._workers}
            for gpu in worker.others:
                if gpu not in known:
                    self._start(gpu)
            worker.others = []

    def _ended(self, worker: WorkerProcess, ended: Exit) -> None:
        """Decide the trial of a worker that has ended, and start another worker."""
        reason = worker.error or describe_exit(ended.status, ended.last_line)
        if worker.trial is not None and ended.status == 0:
            worker.trial.wait_again()  # the worker was broken before it started this trial
        elif worker.trial is not None:
            worker.trial.decide(Verdict(Outcome.RUNTIME_DEVICE, reason))
        if worker.ready:
            self._start(worker.gpu, worker.pending_failure)
        elif not self._workers:
            raise TunesmithError(worker.error or f"GPU {worker.gpu} cannot be used: {reason}")
        elif worker.pending_failure is not None:
            worker.pending_failure[0].wait_again()
