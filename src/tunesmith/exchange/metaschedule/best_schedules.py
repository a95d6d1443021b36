"""Which records of a store a database of MetaSchedule can hold: the best that have a trace."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.sketches.registry import SKETCHES
from tunesmith.sketches.sketch import ScheduleSketch
from tunesmith.store import Record, Store


@dataclass(frozen=True)
class BestSchedule:
    """The best record of a task by a sketch that schedules.

    ``trial`` is that of its config, if the record is of a play-off.
    """

    record: Record
    trial: Record | None = None

    @property
    def records(self) -> list[Record]:
        """All that a store needs to know that it is the best."""
        return [self.record] if self.trial is None else [self.trial, self.record]


@dataclass
class BestSchedules:
    """The best schedule of each task that was measured on this machine.

    ``faster`` counts the tasks that have a faster program by another sketch, by that sketch;
    ``left_out`` the tasks that have no such record, by the reason.
    """

    schedules: list[BestSchedule] = field(default_factory=list)
    faster: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)


def best_schedules(store: Store, keys: Iterable[str]) -> BestSchedules:
    """The best schedules of these tasks.

    Raises ``UsageError`` for tasks of several targets: TVM's passes do not look at that of a
    record.
    """
    found = BestSchedules()
    for key in keys:
        current = {name: _current(name, version) for name, version in store.sketches(key)}
        every = [(name, version) for name, version in store.sketches(key) if current[name]]
        fastest = store.best(key, among=every)
        best = store.best(key, among=[each for each in every if _schedules(each[0])])
        if best is None:
            found.left_out[_reason(fastest)] += 1
            continue
        found.schedules.append(BestSchedule(best, _trial_of(store, best)))
        if fastest is not None and fastest.sketch != best.sketch:
            found.faster[fastest.sketch] += 1
    _check_one_target(it.record for it in found.schedules)
    return found


def _trial_of(store: Store, best: Record) -> Record | None:
    if not best.play_off:
        return None
    trials = store.records(best.task_key, sketch=best.sketch)
    same = (it for it in trials if it.config == best.config)
    return next((it for it in same if it.sketch_version == best.sketch_version), None)


def _reason(fastest: Record | None) -> str:
    if fastest is None:
        return "nothing valid was measured on this machine with a sketch as it is now"
    return f"{fastest.sketch} schedules no definition of the operator: its programs have no trace"


def _current(name: str, version: int) -> bool:
    """Whether a sketch exists in this version; one of a package that does not load is none."""
    try:
        return name in SKETCHES.names() and SKETCHES.get(name).version == version
    except TunesmithError:
        return False


def _schedules(name: str) -> bool:
    return isinstance(SKETCHES.get(name), ScheduleSketch)


def _check_one_target(records: Iterable[Record]) -> None:
    targets = {json.dumps(dict(it.target), sort_keys=True): it.task_key for it in records}
    if len(targets) > 1:
        names = sorted({key.rpartition("@")[2] for key in targets.values()})
        raise UsageError(
            f"the tasks are for several targets ({', '.join(names)}), which TVM's passes do not "
            "tell apart in a database: choose those of one, such as --task '*@cpu'"
        )
