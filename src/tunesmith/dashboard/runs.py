"""Runs and tasks as the pages show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from tunesmith.measurement import Outcome
from tunesmith.store import Session
from tunesmith.store.aggregates import Evaluated, Series, Tally
from tunesmith.store.rows import from_instant

# So long after it was last heard of, a run without an end counts as living: trials take a while.
_SILENCE: Final = timedelta(seconds=120)


@dataclass(frozen=True)
class SketchShare:
    """What a sketch had of the trials: how many, how many valid, the least seconds of a call."""

    series: Series
    trials: int
    valid: int
    seconds: float | None


class _Counted:
    """Sums of the tallies of trials."""

    tallies: Sequence[Tally]
    all_series: Mapping[int, Series]

    @cached_property
    def outcomes(self) -> Mapping[Outcome, int]:
        """The number of trials with each outcome that occurred."""
        counts = {
            outcome: sum(it.count for it in self.tallies if it.outcome is outcome and _trial(it))
            for outcome in Outcome
        }
        return {outcome: count for outcome, count in counts.items() if count}

    @property
    def trials(self) -> int:
        return sum(self.outcomes.values())

    @property
    def valid(self) -> int:
        return self.outcomes.get(Outcome.NO_ERROR, 0)

    @property
    def last(self) -> int:
        """The id of the last record, 0 if there is none."""
        return max((it.last for it in self.tallies), default=0)

    @property
    def sketches(self) -> Sequence[SketchShare]:
        """What each sketch had, the one with the fastest trial first."""
        by_series: dict[int, list[Tally]] = {}
        for tally in filter(_trial, self.tallies):
            by_series.setdefault(tally.series, []).append(tally)
        shares = [
            SketchShare(
                self.all_series[number],
                sum(it.count for it in its),
                sum(it.count for it in its if it.outcome is Outcome.NO_ERROR),
                _least(its),
            )
            for number, its in by_series.items()
        ]
        return sorted(shares, key=lambda share: (share.seconds is None, share.seconds or 0.0))


@dataclass(frozen=True)
class WatchedRun(_Counted):
    """A run. ``id`` is that of its session in the database, ``machine`` a fingerprint.

    One that edits programs has no trials, but has ``evaluated`` some.
    """

    id: int
    session: Session
    machine: str
    tallies: Sequence[Tally]
    all_series: Mapping[int, Series]
    evaluated: Evaluated | None = None

    @property
    def first(self) -> int:
        """The id of the first record, 0 if there is none."""
        return min((it.first for it in self.tallies), default=0)

    @cached_property
    def best_seconds(self) -> float | None:
        """As in `Run`: that of its play-off or, without one, of its trials."""
        confirmed = _least([it for it in self.tallies if it.play_off])
        return _least(self.tallies) if confirmed is None else confirmed

    @property
    def heard(self) -> datetime:
        """When it last stored something."""
        instants = [it.created for it in self.tallies]
        if self.evaluated is not None:
            instants.append(self.evaluated.created)
        times = map(from_instant, instants)
        return max([self.session.finished or self.session.started, *times])

    def is_live(self, now: datetime) -> bool:
        """Whether it seems to go on."""
        return self.session.finished is None and now - self.heard < _SILENCE


@dataclass(frozen=True)
class WatchedTask(_Counted):
    """A task on a machine (a fingerprint), with its runs there, oldest first."""

    key: str
    machine: str
    runs: Sequence[WatchedRun]
    tallies: Sequence[Tally]
    all_series: Mapping[int, Series]

    @property
    def id(self) -> tuple[str, str]:
        return self.key, self.machine

    @property
    def session(self) -> Session:
        """Its last run, which tells what they share."""
        return self.runs[-1].session

    @property
    def series(self) -> list[int]:
        """The ids of its series."""
        return [it.id for it in self.all_series.values() if (it.task_key, it.machine) == self.id]

    @property
    def heard(self) -> datetime:
        return max(run.heard for run in self.runs)


@dataclass(frozen=True)
class Snapshot:
    """What a store held at a time: ``state`` changes with its content. Oldest runs come first."""

    state: tuple[int, ...]
    runs: Sequence[WatchedRun]
    tasks: Sequence[WatchedTask]

    @property
    def trials(self) -> int:
        return sum(task.trials for task in self.tasks)

    def task(self, key: str, machine: str | None) -> WatchedTask | None:
        """The task of that key on a machine, None for any; None if there is none."""
        fitting = (it for it in self.tasks if it.key == key and machine in (None, it.machine))
        return next(fitting, None)

    def of(self, uids: Sequence[str]) -> list[WatchedRun]:
        """The runs with these uids, in this order; unknown ones are left out."""
        known = {run.session.uid: run for run in self.runs}
        return [known[uid] for uid in uids if uid in known]


def snapshot_of(
    state: tuple[int, ...],
    sessions: Mapping[int, Session],
    series: Mapping[int, Series],
    tallies: Sequence[Tally],
    evaluated: Mapping[int, Evaluated],
) -> Snapshot:
    """The runs of these sessions with their tallies; ``series`` by id, the others by session."""
    by_run: dict[int, list[Tally]] = {}
    for tally in tallies:
        by_run.setdefault(tally.session, []).append(tally)
    runs = [
        WatchedRun(
            number,
            session,
            str(session.machine["fingerprint"]),
            by_run.get(number, []),
            series,
            evaluated.get(number),
        )
        for number, session in sorted(sessions.items())
    ]
    by_task: dict[tuple[str, str], list[WatchedRun]] = {}
    for run in runs:
        by_task.setdefault((run.session.task_key, run.machine), []).append(run)
    tasks = [
        WatchedTask(*task, its, [tally for run in its for tally in run.tallies], series)
        for task, its in by_task.items()
    ]
    return Snapshot(state, runs, tasks)


def _trial(tally: Tally) -> bool:
    return not tally.play_off


def _least(tallies: Sequence[Tally]) -> float | None:
    times = [it.seconds for it in tallies if it.seconds is not None]
    return min(times, default=None)
