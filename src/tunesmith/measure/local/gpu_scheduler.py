"""Who builds and who runs, where programs run on GPUs: both at the same time."""

from __future__ import annotations

import math
from collections.abc import Callable

from tunesmith.measure.activity import Activity
from tunesmith.measure.gpu.process import GpuPool, GpuTrial, WorkerProcess
from tunesmith.measure.local.scheduler import BuildQueue, turn
from tunesmith.measure.trial.request import Phase, Request


class GpuScheduler(BuildQueue[GpuTrial]):
    """Decides what happens next; used like ``Scheduler``.

    Whatever is ready runs on the next of the pool's GPUs that is free, while others are built: a
    GPU never waits for a build as long as something is ready. The trials of a play-off run when
    nothing else is left to do, all of them on the first GPU.
    """

    def __init__(
        self,
        *,
        pool: GpuPool,
        start: Callable[[Request], GpuTrial],
        on_run: Callable[[GpuTrial], None],
        workers: int,
        cut_off: float,
    ) -> None:
        super().__init__(start, on_run, workers, cut_off)
        self._pool = pool

    def advance(self) -> None:
        """Start all that may start now.

        Raises ``OSError`` if not a single process can be made, ``TunesmithError`` if no GPU can be
        used.
        """
        if any(not request.build_only for request in self._queue):
            self._pool.begin()
        self._pool.check_starts()
        for worker in list(self._pool.free):
            self._run_next(worker)
        self._build_more()

    def end(self, trial: GpuTrial, seconds: float) -> None:
        super().end(trial, seconds)
        self._pool.forget(trial)

    @property
    def activity(self) -> Activity:
        """What is being done: nothing but a run keeps a GPU busy."""
        if self._pool.running:
            return Activity.RUN
        return Activity.BUILD if self._in(Phase.BUILD) else Activity.IDLE

    @property
    def wait_left(self) -> float:
        """Seconds until a GPU's worker has taken too long to start."""
        return max(0.0, self._pool.wait_left) if self.live else math.inf

    def _run_next(self, worker: WorkerProcess) -> None:
        first = worker is self._pool.first  # programs that are compared run on one GPU
        ready = [trial for trial in self._in(Phase.READY) if first or not trial.request.rounds]
        resting = self._in(Phase.RESTING)
        if ready:
            trial = min(ready, key=lambda trial: trial.ready_since)
            trial.worker = worker
            self._run_first(trial)
        elif resting and self._all_built and first:
            trial = min(resting, key=turn)
            trial.worker = worker
            self._run_again(trial)
