"""Our schedules as a database of MetaSchedule, from which TVM's own passes take them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunesmith.compiler.importing import load_compiler
from tunesmith.errors import InstantiationError, StoreError, UsageError, system_reason
from tunesmith.exchange.metaschedule.best_schedules import BestSchedule
from tunesmith.exchange.metaschedule.definitions import definitions, lay_out_once
from tunesmith.exchange.metaschedule.names import RECORDS, WORKLOADS
from tunesmith.exchange.metaschedule.note import leave_note
from tunesmith.operators import operator_from_json
from tunesmith.sketches.registry import SKETCHES
from tunesmith.sketches.sketch import ScheduleSketch
from tunesmith.sketches.tir.weights import has_constant_weights
from tunesmith.target import Target


@dataclass(frozen=True)
class Written:
    """How many tasks have a schedule in a database, and for how many functions."""

    tasks: int
    functions: int


def write_database(folder: Path, schedules: Iterable[BestSchedule]) -> Written:
    """Write a database with the best schedules of tasks.

    A task's schedule is there for each function that may compute it: see ``definitions``. Raises
    ``UsageError`` for a folder that has a database, and ``StoreError`` where it cannot be written,
    without leaving any of it.
    """
    for name in (WORKLOADS, RECORDS):
        if (folder / name).exists():
            raise UsageError(f"{folder} has a database of MetaSchedule: name another folder")
    load_compiler()
    from tvm.s_tir.meta_schedule.database import JSONDatabase

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".draft-", dir=folder) as draft:
            database = JSONDatabase(work_dir=draft)
            counts = [_commit(database, schedule) for schedule in schedules]
            _check(draft, sum(counts))
            for name in (WORKLOADS, RECORDS):
                (Path(draft) / name).replace(folder / name)
    except OSError as error:
        raise StoreError(f"cannot write {folder}: {system_reason(error)}") from error
    return Written(len(counts), sum(counts))


def _check(draft: str, count: int) -> None:
    """Raises ``OSError`` where a database is not whole: TVM does not look at whether it could write
    its files, as on a full disk."""
    from tvm.s_tir.meta_schedule.database import JSONDatabase

    try:
        whole = len(JSONDatabase(work_dir=draft, allow_missing=False)) == count
    except Exception:  # whatever a broken file leads to
        whole = False
    if not whole:
        raise OSError("it was not written whole: is the disk full?")


def _commit(database: Any, best: BestSchedule) -> int:
    """Add a schedule for each function of a task; returns how many."""
    import tvm
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo
    from tvm.s_tir.meta_schedule.database import TuningRecord

    record = best.record
    operator = operator_from_json(record.description["operator"])
    sketch, target = SKETCHES.get(record.sketch), Target.from_json(record.target)
    assert isinstance(sketch, ScheduleSketch)
    count = 0
    for definition in definitions(operator):
        try:
            schedule = sketch.schedule(operator, target, record.config, definition)
        except InstantiationError:
            if count == 0:  # our own definition: the record is of another version of the sketch
                raise
            continue  # its loops are others
        if has_constant_weights(operator):
            lay_out_once(schedule)
        leave_note(schedule, best.records)
        made = TuningRecord(
            schedule.trace,
            database.commit_workload(definition),
            list(record.measurement.run_seconds),
            tvm.target.Target(dict(record.target)),
            ArgInfo.from_entry_func(schedule.mod, remove_preproc=True),
        )
        database.commit_tuning_record(made)
        count += 1
    return count
