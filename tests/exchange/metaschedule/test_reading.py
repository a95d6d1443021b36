"""What MetaSchedule tried, as records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.exchange.metaschedule.changes import Line, changed, seconds, warned
from tunesmith.exchange import read_records
from tunesmith.exchange.metaschedule.names import RECORDS, WORKLOADS
from tunesmith.measurement import Outcome
from tunesmith.operators import matmul
from tunesmith.store import ANY_MACHINE, open_store

TASK = f"{matmul(m=64, n=64, k=64).key}@cpu(mcpu=znver4,cores=2)"


def test_what_metaschedule_tried(folder: Path) -> None:
    records = list(read_records(folder))
    assert {record.task_key for record in records} == {TASK}
    assert len({record.session.uid for record in records}) == 1
    first = records[0]
    assert first.sketch == "metaschedule:61d329d0"
    assert first.config.to_json() == {
        "tile_matmul_0": [4, 1, 1, 16],
        "tile_matmul_1": [64, 1, 1, 1],
        "tile_matmul_2": [64, 1],
        "unroll_explicit": 64,
    }
    assert first.measurement.run_seconds == (0.0004124567469854469,)
    assert first.measurement.outcome is Outcome.NO_ERROR
    assert first.target["mcpu"] == "znver4"
    assert first.tuner == "metaschedule"
    assert first.machine["cpu"] == "llvm znver4, 2 cores"
    sketches = first.description["sketches"]
    assert {it["name"] for it in sketches} == {record.sketch for record in records}
    assert sketches[0]["instructions"][0] == ["GetSBlock", [], ["matmul", "main"], ["b0"]]
    assert all(it["instructions"][-1][0] != "EnterPostproc" for it in sketches)


@pytest.mark.parametrize("name", ["", WORKLOADS, RECORDS])
def test_the_folder_or_a_file_in_it(name: str, folder: Path) -> None:
    assert len(list(read_records(folder / name))) == 5


def test_this_machine_is_not_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the task is that of our own runs."""
    from tunesmith.compiler import llvm

    monkeypatch.setattr(llvm, "host_processor", lambda: "znver4")
    monkeypatch.setattr("tunesmith.target.Target.core_count", 2)
    record = next(iter(read_records(folder)))
    assert record.task_key == f"{matmul(m=64, n=64, k=64).key}@cpu"
    assert record.target["mcpu"] == "znver4"


def test_what_is_new_is_added(folder: Path) -> None:
    lines = (folder / RECORDS).read_text().splitlines(keepends=True)
    (folder / RECORDS).write_text("".join(lines[:3]))
    with open_store(folder / "tuning.db") as store:
        assert store.merge(read_records(folder)) == 3
        assert store.merge(read_records(folder)) == 0
        (folder / RECORDS).write_text("".join(lines))
        assert store.merge(read_records(folder)) == 2
        assert store.runs(TASK) == [], "it was not measured here"
        (run,) = store.runs(TASK, machine=ANY_MACHINE)
        seconds = [json.loads(line)[1][1][0] for line in lines]
        assert run.best_seconds == min(seconds)
        assert run.trials == 5


@pytest.mark.parametrize("value", [[1e10], [float("nan")], [float("inf")], [-1.0], [0], []])
def test_what_is_no_time_is_a_failure(value: Any, folder: Path) -> None:
    changed(folder / RECORDS, seconds(value))
    record = next(iter(read_records(folder)))
    assert record.measurement.outcome is Outcome.UNKNOWN_ERROR
    assert record.measurement.run_seconds == ()


def test_what_was_not_measured_is_left_out(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    changed(folder / RECORDS, seconds(None))
    records, text = warned(folder, caplog)
    assert len(records) == 4
    assert "1 trials are left out: it was not measured" in text


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ({"kind": "opencl"}, "target opencl is not known here"),
        ({"kind": "llvm", "mcpu": 3}, "mcpu must be LLVM's name of a processor"),
        (None, "target None is not known here"),
    ],
)
def test_unknown_targets(
    target: Any, why: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def change(line: Line) -> Line:
        line[1][2] = target
        return line

    changed(folder / RECORDS, change)
    records, text = warned(folder, caplog)
    assert len(records) == 4
    assert f"1 trials are left out: {why}" in text


def test_a_gpu(folder: Path) -> None:
    def change(line: Line) -> Line:
        line[1][2] = {"kind": "cuda", "arch": "sm_90", "max_num_threads": 1024}
        return line

    changed(folder / RECORDS, change)
    record = next(iter(read_records(folder)))
    assert record.task_key == f"{matmul(m=64, n=64, k=64).key}@cuda(arch=sm_90)"
    assert record.machine["device"] == "cuda sm_90"
