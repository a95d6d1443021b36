"""Which records a database of MetaSchedule can hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.exchange.metaschedule.tasks import CPU, stored
from tunesmith.errors import UsageError
from tunesmith.exchange.metaschedule import BestSchedule, best_schedules
from tunesmith.operators import Operator, matmul
from tunesmith.sketches import sketch_for
from tunesmith.store import Record, Store, open_store
from tunesmith.target import Target

SMALL, LARGE = matmul(m=16, n=16, k=16), matmul(m=32, n=32, k=32)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "tuning.db") as opened:
        yield opened


def tried(
    store: Store, operator: Operator, sketch: str, seconds: float, target: Target = CPU
) -> Record:
    default = sketch_for(operator, target, sketch).default(operator, target)
    return stored(store, operator, default, sketch=sketch, target=target, seconds=[seconds])


def keys(store: Store) -> list[str]:
    return [task.key for task in store.tasks()]


def test_the_best_schedule_of_each_task(store: Store) -> None:
    tried(store, SMALL, "cpu_tiled", 2.0)
    fast = tried(store, SMALL, "cpu_gemm_424", 1.0)
    other = tried(store, LARGE, "cpu_tiled", 3.0)
    found = best_schedules(store, keys(store))
    assert found.schedules == [BestSchedule(fast), BestSchedule(other)]
    assert not found.faster
    assert not found.left_out


def test_faster_programs_without_a_trace_are_told(store: Store) -> None:
    schedule = tried(store, SMALL, "cpu_tiled", 2.0)
    tried(store, SMALL, "cpu_gemm", 1.0)
    tried(store, LARGE, "cpu_gemm", 1.0)
    found = best_schedules(store, keys(store))
    assert found.schedules == [BestSchedule(schedule)]
    assert found.faster == {"cpu_gemm": 1}
    (reason,) = found.left_out
    assert reason.startswith("cpu_gemm schedules no definition of the operator")


def test_sketches_of_another_version_do_not_count(store: Store) -> None:
    record = tried(store, SMALL, "cpu_tiled", 1.0)
    old = replace(record.session, uid="another", sketch_version=0)
    store.add([replace(record, session=replace(old, task_key=f"{LARGE.key}@cpu"))])
    found = best_schedules(store, keys(store))
    assert found.schedules == [BestSchedule(record)]
    (reason,) = found.left_out
    assert "nothing valid was measured on this machine" in reason


def test_a_database_is_for_one_target(store: Store) -> None:
    tried(store, SMALL, "cpu_tiled", 1.0)
    tried(store, SMALL, "cpu_tiled", 1.0, Target(mcpu="x86-64-v3"))
    with pytest.raises(UsageError, match=r"several targets \(cpu, cpu\(mcpu=x86-64-v3\)\)"):
        best_schedules(store, keys(store))
    found = best_schedules(store, [key for key in keys(store) if key.endswith("@cpu")])
    assert len(found.schedules) == 1


def test_a_play_off_comes_with_its_trial(store: Store) -> None:
    tried(store, SMALL, "cpu_gemm_424", 3.0)
    trial = tried(store, SMALL, "cpu_tiled", 1.0)
    store.confirm(trial.session, [replace(trial.measurement, run_seconds=(1.5,))])
    (best,) = best_schedules(store, keys(store)).schedules
    assert best.record.play_off
    assert best.record.measurement.run_seconds == (1.5,)
    assert best.records == [trial, best.record]
