"""What a store holds, kept up to date by reading only what is new."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from tunesmith.dashboard.runs import Snapshot, WatchedRun, WatchedTask, snapshot_of
from tunesmith.store import Record, Session
from tunesmith.store.aggregates import Evaluated, Series, Tally
from tunesmith.store.overview import Overview

_IDS_AT_A_TIME: Final = 100_000
# Where transactions may end in another order than that of their ids, a record counts as read only
# after these seconds.
_SETTLED_AFTER: Final = 60.0

# So many of the last sessions and series are read again there: some may have appeared below them.
_LATE_IDS: Final = 1_000

_Key = tuple[int, int, bool, int]


class _Tallies:
    """Sums of tallies by run, sketch and outcome."""

    def __init__(self, known: _Tallies | None = None) -> None:
        self.by_key: dict[_Key, Tally] = {} if known is None else dict(known.by_key)

    def add(self, found: Iterable[Tally]) -> None:
        for tally in found:
            key = tally.session, tally.series, tally.play_off, tally.outcome.value
            before = self.by_key.get(key)
            self.by_key[key] = tally if before is None else _sum(before, tally)


def _sum(one: Tally, other: Tally) -> Tally:
    times = [seconds for seconds in (one.seconds, other.seconds) if seconds is not None]
    return replace(
        one,
        count=one.count + other.count,
        seconds=min(times, default=None),
        first=min(one.first, other.first),
        last=max(one.last, other.last),
        created=max(one.created, other.created),
    )


@dataclass
class Watch:
    """Follows a store. ``snapshot`` is what is known; several threads may ask for it."""

    store: Overview
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _settled: _Tallies = field(default_factory=_Tallies)
    _settled_until: int = 0
    _newest_at: deque[tuple[float, int]] = field(default_factory=deque)
    _sessions: dict[int, Session] = field(default_factory=dict)
    _series: dict[int, Series] = field(default_factory=dict)
    _evaluated: dict[int, Evaluated] = field(default_factory=dict)
    _bests: dict[tuple[str, str], tuple[int, Record | None]] = field(default_factory=dict)
    _known: Snapshot = field(default_factory=lambda: Snapshot((), (), ()))

    def snapshot(self, counted: Callable[[int, int], None] | None = None) -> Snapshot:
        """What the store holds now. ``counted`` hears how many of how many new records are read.

        Raises `StoreError` if the store cannot be read.
        """
        with self._lock:
            state = self.store.state()
            if state != self._known.state:
                self._known = self._read(state, counted)
            return self._known

    def best(self, task: WatchedTask) -> Record | None:
        """The best record of a task on a machine, as `Reader.best` finds it."""
        known = self._bests.get(task.id)
        if known is None or known[0] != task.last:
            known = task.last, self.store.best_of(task.series)
            self._bests[task.id] = known
        return known[1]

    def default_seconds(self, run: WatchedRun) -> float | None:
        """Seconds of the config that a run compares with; None if it has none that is valid."""
        session = run.session
        if session.default is None:
            return None
        name, version = session.sketches[0]
        found = self.store.measurement_of(
            session.task_key,
            session.default,
            sketch=name,
            sketch_version=version,
            machine=run.machine,
        )
        return found.seconds if found is not None and found.valid else None

    def _read(self, state: tuple[int, ...], counted: Callable[[int, int], None] | None) -> Snapshot:
        newest, begun = state[0], self._settled_until
        settle = newest if self.store.stores_in_order else self._newest_before(newest)
        while self._settled_until < settle:
            until = min(self._settled_until + _IDS_AT_A_TIME, settle)
            self._settled.add(self.store.tallies(self._settled_until, until))
            self._settled_until = until
            if counted is not None:
                counted(until - begun, settle - begun)
        tallies = _Tallies(self._settled)
        if newest > self._settled_until:
            tallies.add(self.store.tallies(self._settled_until, newest))
        last = max((it.last for it in self._evaluated.values()), default=0)
        for found in self.store.evaluated(last):
            count = self._evaluated[found.session].count if found.session in self._evaluated else 0
            self._evaluated[found.session] = replace(found, count=count + found.count)
        for series in self.store.all_series(self._after(self._series)):
            self._series[series.id] = series
        unfinished = {number for number, it in self._sessions.items() if it.finished is None}
        self._sessions |= self.store.sessions_by_id(self._after(self._sessions), unfinished)
        summed = list(tallies.by_key.values())
        return snapshot_of(state, self._sessions, self._series, summed, self._evaluated)

    def _after(self, known: Mapping[int, object]) -> int:
        """Where to read on: after the newest that is known, or some way below it."""
        newest = max(known, default=0)
        return newest if self.store.stores_in_order else max(0, newest - _LATE_IDS)

    def _newest_before(self, newest: int) -> int:
        """The newest record of some time ago: no more will come below it."""
        now = self.clock()
        self._newest_at.append((now, newest))
        if not self._settled_until and len(self._newest_at) == 1:
            return newest  # what was there before we came
        settled = self._settled_until
        while self._newest_at and self._newest_at[0][0] <= now - _SETTLED_AFTER:
            settled = self._newest_at.popleft()[1]
        return settled
