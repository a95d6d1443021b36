"""A run's best time over its trials and over time, from few rows however many trials it has."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tunesmith.dashboard.runs import WatchedRun
from tunesmith.store.aggregates import Stretch
from tunesmith.store.overview import Overview
from tunesmith.store.rows import to_instant

MOST_POINTS: Final = 2000
"""A run has at most one more in a figure."""


@dataclass(frozen=True, slots=True)
class Point:
    """Trials of a run that followed one another: the number of the last one (from 1), how many,
    how many of them valid, seconds from the run's start to the end of the last one, and the least
    seconds of a call, None if none was valid."""

    number: int
    trials: int
    valid: int
    elapsed: float
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Curve:
    """The points of a run. ``together`` trials at most are one point: 1 if each has its own."""

    run: WatchedRun
    points: Sequence[Point]
    together: int

    @property
    def improvements(self) -> list[Point]:
        """The points that were faster than all before them."""
        found: list[Point] = []
        for point in self.points:
            seconds = point.seconds
            if seconds is not None and (not found or seconds < (found[-1].seconds or 0.0)):
                found.append(point)
        return found

    @property
    def trials(self) -> int:
        return self.points[-1].number if self.points else 0

    @property
    def elapsed(self) -> float:
        return self.points[-1].elapsed if self.points else 0.0


@dataclass
class Curves:
    """Makes curves, and keeps what it has read of them: a run that goes on only adds to it."""

    store: Overview
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: dict[int, tuple[int, int, list[Stretch]]] = field(default_factory=dict)

    def of(self, run: WatchedRun) -> Curve:
        """The curve of a run. Raises `StoreError` if the store cannot be read."""
        ids = _ids_together(run.last - run.first + 1)
        with self._lock:
            before, last, stretches = self._known.get(run.id, (0, -1, []))
            if before != ids:
                stretches = []
            if last != run.last or before != ids:
                # The last one may have got more trials since.
                kept = stretches[:-1]
                first = stretches[-1].first if stretches else run.first
                stretches = [*kept, *self.store.stretches(run.id, first, ids)]
                self._known[run.id] = ids, run.last, stretches
        return Curve(run, _points(run, stretches), ids)


def _ids_together(ids: int) -> int:
    """A power of two, so that it seldom changes while a run goes on."""
    together = 1
    while together * MOST_POINTS < ids:
        together *= 2
    return together


def _points(run: WatchedRun, stretches: Sequence[Stretch]) -> list[Point]:
    started, points = to_instant(run.session.started), []
    number, elapsed = 0, 0.0
    for stretch in stretches:
        number += stretch.trials
        elapsed = max(elapsed, (stretch.created - started) / 1e6)
        points.append(Point(number, stretch.trials, stretch.valid, elapsed, stretch.seconds))
    return points
