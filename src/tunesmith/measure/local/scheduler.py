"""Who builds, who runs, and when: builds in parallel, runs with the machine to themselves."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Set
from typing import Generic, Protocol, TypeVar

from tunesmith.measure.activity import Activity
from tunesmith.measure.failure import Verdict
from tunesmith.measure.trial.request import Phase, Request

# How many built programs wait before they are run.
READY_BATCH = 8

# How long a built program waits at most while others are being built; in seconds.
LONGEST_WAIT = 1.0


class Schedulable(Protocol):
    """What the scheduler knows of a trial; see ``TrialProcess``."""

    request: Request
    phase: Phase
    ready_since: float
    rounds_run: list[float]
    verdict: Verdict | None

    def run(self, cut_off_seconds: float) -> None: ...
    def run_again(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...


T = TypeVar("T", bound=Schedulable)


class BuildQueue(Generic[T]):
    """Requests that wait, and the trials of those that were started: ``workers`` build at once.

    ``start`` makes a trial, which then builds; ``on_run`` is told of each that is about to run.
    What takes more than ``cut_off`` times the least seconds of a call so far is measured only
    briefly.
    """

    def __init__(
        self,
        start: Callable[[Request], T],
        on_run: Callable[[T], None],
        workers: int,
        cut_off: float,
    ) -> None:
        self.live: list[T] = []
        self._start = start
        self._on_run = on_run
        self._workers = workers
        self._cut_off = cut_off
        self._best = math.inf
        self._queue: deque[Request] = deque()

    def submit(self, requests: Iterable[Request], best: float = math.inf) -> None:
        """Queue requests. ``best`` is the least seconds of a call that their sender knows of."""
        self._best = min(self._best, best)
        self._queue.extend(requests)

    def cancel(self, ids: Set[int]) -> None:
        """Forget these requests, of those that have not been started."""
        self._queue = deque(request for request in self._queue if request.id not in ids)

    def end(self, trial: T, seconds: float) -> None:
        """A trial has ended, valid with so many seconds a call, or infinity."""
        self.live.remove(trial)
        self._best = min(self._best, seconds)

    def _in(self, phase: Phase) -> list[T]:
        return [trial for trial in self.live if trial.phase is phase]

    def _waiting(self, phase: Phase) -> list[T]:
        """Those that wait in a phase for their turn. One that is decided only waits for its end."""
        return [trial for trial in self._in(phase) if trial.verdict is None]

    @property
    def _all_built(self) -> bool:
        return not (self._queue or self._in(Phase.BUILD))

    def _build_more(self) -> None:
        while self._queue and len(self._in(Phase.BUILD)) < self._workers:
            request = self._queue.popleft()
            try:
                self.live.append(self._start(request))
            except OSError:
                if not self.live:
                    raise
                self._queue.appendleft(request)  # there may be room when another has ended
                return

    def _run_first(self, trial: T) -> None:
        self._on_run(trial)
        # All of a play-off are fast, and each shall be run often.
        trial.run(math.inf if trial.request.rounds else self._cut_off * self._best)

    def _run_again(self, trial: T) -> None:
        self._on_run(trial)
        trial.run_again()


class Scheduler(BuildQueue[T]):
    """Decides what happens next; the caller tells it what has happened, and calls ``advance``.

    Programs run on what they are built with, so they take turns. Whenever ``READY_BATCH`` of them
    are ready, or some have waited for long (another build may hang), or there is nothing left to
    build, all builds are paused and those that are ready run one after the other, nothing else
    being active. The trials of a play-off have their rounds when nothing else is left to do.
    """

    _running = False

    def advance(self) -> None:
        """Start all that may start now. Raises ``OSError`` if not a single process can be made."""
        if self._running and not self._in(Phase.RUN) and not self._run_next():
            self._running = False
            for trial in self._in(Phase.BUILD):
                trial.resume()
        if not self._running and self._is_time_to_run():
            self._running = True
            for trial in self._in(Phase.BUILD):
                trial.pause()
            self._run_next()
        if not self._running:
            self._build_more()

    @property
    def activity(self) -> Activity:
        """What the device is being used for."""
        if self._running:
            return Activity.RUN
        return Activity.BUILD if self._in(Phase.BUILD) else Activity.IDLE

    @property
    def wait_left(self) -> float:
        """Seconds until a trial that is ready has waited for too long."""
        ready = self._waiting(Phase.READY)
        if self._running or not ready:
            return math.inf
        return min(trial.ready_since for trial in ready) + LONGEST_WAIT - time.monotonic()

    def _is_time_to_run(self) -> bool:
        ready = self._waiting(Phase.READY)
        if self._all_built:
            return bool(ready or self._waiting(Phase.RESTING))
        # Until a time is known there is none to cut others off at, and none to end a run with.
        enough = READY_BATCH if math.isfinite(self._best) else 1
        return len(ready) >= enough or self.wait_left <= 0.0

    def _run_next(self) -> bool:
        """Let the next trial run; False if none is to run now."""
        ready, resting = self._waiting(Phase.READY), self._waiting(Phase.RESTING)
        if ready:
            self._run_first(min(ready, key=lambda trial: trial.ready_since))
            return True
        if resting and self._all_built:
            self._run_again(min(resting, key=turn))
            return True
        return False


def turn(trial: Schedulable) -> tuple[int, int]:
    """What to sort a play-off by: round by round, every second one backwards against drift."""
    done = len(trial.rounds_run)
    return done, -trial.request.id if done % 2 else trial.request.id
