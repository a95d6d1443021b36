"""The times of thinking: a row for each, and nothing measured wrongly short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tunesmith.bench.autotvm import speed
from tunesmith.bench.autotvm.page import on_other_machines, read_models, write_models_page
from tunesmith.bench.pages.provenance import origin_now
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import workload
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.shipped import shipped_model

pytest.importorskip("xgboost", reason="XGBoost is not installed")


def test_a_row_for_each_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "CANDIDATES", 6)
    monkeypatch.setattr(speed, "OBSERVED", 70)
    monkeypatch.setattr(speed, "SKETCHES", ("cpu_tiled",))
    rows = list(speed.measure_speed())
    assert [row["what"].split()[0] for row in rows] == [
        "features",
        "a",
        "a",
        "a",
        "starts",
        "favourite",
    ]
    assert rows[3]["what"] == "a batch of 16 after 64 trials, with a model of other tasks"
    assert all(row["seconds"] > 0.0 for row in rows)
    assert rows.pop(3)["wanted"] is None
    assert all(row["wanted"] > 0.0 for row in rows)


@pytest.mark.parametrize("processor", ["haswell", "skylake-avx512"])
def test_the_model_of_other_tasks_has_weight_in_an_early_batch(
    processor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So what is timed is a small batch, in which that model takes part."""
    task = Task(workload(speed.LAYER), Target(mcpu=processor, cores=2))
    seen = []

    def looked_at(what: str, search: Any, size: int) -> dict[str, Any]:
        search.propose(size)
        seen.append((what, size, search._prior.counts, len(search._speeds), len(search._batch)))
        return {}

    monkeypatch.setattr(speed, "_batch_row", looked_at)
    speed._planning_early(TaskProblem.of(task, "cpu_tiled"), shipped_model(task.target))
    what = "a batch of 16 after 64 trials, with a model of other tasks"
    assert seen == [(what, 16, True, 64, 0)]


def test_the_time_of_a_program_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "SPLIT", 6)
    rows = list(speed.split_features())
    assert [row["sketch"] for row in rows] == list(speed.SKETCHES)
    assert all(0 < row["programs"] <= 6 for row in rows)
    assert all(row[part] > 0.0 for row in rows for part in ("seconds", "compiler"))


def on(cpu: str, seconds: float) -> dict[str, Any]:
    """The figures of a machine: thinking takes so long, and a program's features a hundredth."""
    origin = origin_now()
    origin["machine"] = {**origin["machine"], "cpu": cpu, "cores": 2}
    known = {"origin": origin, "seconds": seconds}
    program = {"sketch": "cpu_tiled", "programs": 100, "compiler": 0.0065 * seconds}
    return {
        "speed": [{**known, "what": "thinking", "wanted": 1.0}],
        "program": [{**known, **program, "seconds": 0.01 * seconds}],
    }


def test_the_page_says_what_of_a_program_is_the_compilers(tmp_path: Path) -> None:
    figures = read_models(tmp_path) | {"shipped": {}} | on("a processor", 2.0)
    page = write_models_page(tmp_path, figures)
    assert "| cpu_tiled | 20.0 ms | 13.0 ms | 65 % |" in page
    alone = "3.0 ms a program would be within the goal on two cores: scheduling and lowering alone"
    assert alone in page
    figures["program"][0]["compiler"] = 0.0029
    assert alone not in write_models_page(tmp_path, figures)
    del figures["program"]
    page = write_models_page(tmp_path, figures)
    assert "| thinking | 2.00 | 1 |" in page
    assert "cpu_tiled" not in page


def test_each_machine_has_its_own_table(tmp_path: Path) -> None:
    one, other = on("a processor", 2.0), on("another", 3.0)
    figures = read_models(tmp_path) | {"shipped": {}}
    figures |= {name: [*one[name], *other[name]] for name in one}
    first, second = write_models_page(tmp_path, figures).split("### On another, 2 cores")
    assert "### On a processor, 2 cores" in first
    for text, seconds, milliseconds in ((first, "2.00", "20.0"), (second, "3.00", "30.0")):
        assert f"| thinking | {seconds} | 1 |" in text
        assert f"| cpu_tiled | {milliseconds} ms |" in text


def test_those_of_other_machines_are_kept() -> None:
    there = on("another", 3.0)["speed"]
    here = {"what": "thinking", "seconds": 1.0, "wanted": 1.0, "origin": origin_now()}
    assert on_other_machines([here, *there]) == there
