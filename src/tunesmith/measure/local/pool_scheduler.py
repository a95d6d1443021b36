"""Who builds and who runs, where programs run on other devices: both at the same time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from tunesmith.measure.activity import Activity
from tunesmith.measure.local.scheduler import BuildQueue, Schedulable, turn
from tunesmith.measure.trial.request import Phase, Request


class RunsElsewhere(Schedulable, Protocol):
    """A trial that is given the worker of a device before it runs; see ``GpuTrial``."""

    worker: Any


T = TypeVar("T", bound=RunsElsewhere)


class Pool(Protocol):
    """The workers of devices, one for each; see ``GpuPool``."""

    def begin(self) -> None: ...
    def check_starts(self) -> None: ...
    def forget(self, trial: Any) -> None: ...

    @property
    def free(self) -> Iterator[Any]: ...

    @property
    def first(self) -> Any: ...

    @property
    def running(self) -> bool: ...

    @property
    def wait_left(self) -> float: ...


class PoolScheduler(BuildQueue[T]):
    """Decides what happens next; used like ``Scheduler``.

    Whatever is ready runs on the next of the pool's devices that is free, while others are built: a
    device never waits for a build as long as something is ready. The trials of a play-off run when
    nothing else is left to do, all of them on the first device.
    """

    def __init__(
        self,
        *,
        pool: Pool,
        start: Callable[[Request], T],
        on_run: Callable[[T], None],
        workers: int,
        cut_off: float,
    ) -> None:
        super().__init__(start, on_run, workers, cut_off)
        self._pool = pool

    def advance(self) -> None:
        """Start all that may start now.

        Raises ``OSError`` if not a single process can be made, ``TunesmithError`` if no device can
        be used.
        """
        if any(not request.build_only for request in self._queue):
            self._pool.begin()
        self._pool.check_starts()
        for worker in list(self._pool.free):
            self._run_next(worker)
        self._build_more()

    def end(self, trial: T, seconds: float) -> None:
        super().end(trial, seconds)
        self._pool.forget(trial)

    @property
    def activity(self) -> Activity:
        """What is being done: nothing but a run keeps a device busy."""
        if self._pool.running:
            return Activity.RUN
        return Activity.BUILD if self._in(Phase.BUILD) else Activity.IDLE

    @property
    def wait_left(self) -> float:
        """Seconds until a device's worker has taken too long to start."""
        return max(0.0, self._pool.wait_left) if self.live else math.inf

    def _run_next(self, worker: Any) -> None:
        first = worker is self._pool.first  # programs that are compared run on one device
        waiting = self._waiting(Phase.READY)
        ready = [trial for trial in waiting if first or not trial.request.rounds]
        resting = self._waiting(Phase.RESTING)
        if ready:
            trial = min(ready, key=lambda trial: trial.ready_since)
            trial.worker = worker
            self._run_first(trial)
        elif resting and self._all_built and first:
            trial = min(resting, key=turn)
            trial.worker = worker
            self._run_again(trial)
