"""Databases of MetaSchedule with one schedule of ours, as TVM reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.exchange.metaschedule.tasks import CPU, stored
from tunesmith.exchange.metaschedule import BestSchedule, write_database
from tunesmith.operators import Operator
from tunesmith.space import Config
from tunesmith.store import open_store
from tunesmith.target import Target

# A small convolution.
CONV: dict[str, Any] = {"ci": 8, "h": 10, "w": 10, "co": 16, "kernel": 3, "padding": 1}


def database(folder: Path, equality: str = "structural") -> Any:
    """What TVM reads of a folder."""
    from tvm.s_tir.meta_schedule.database import JSONDatabase

    return JSONDatabase(work_dir=str(folder), allow_missing=False, module_equality=equality)


def exported(
    folder: Path,
    operator: Operator,
    config: Config,
    target: Target = CPU,
    sketch: str = "cpu_tiled",
) -> Any:
    """A database with the schedule of one record."""
    with open_store(folder.parent / "tuning.db") as store:
        record = stored(store, operator, config, sketch=sketch, target=target)
    assert write_database(folder, [BestSchedule(record)]).tasks == 1
    return database(folder)
