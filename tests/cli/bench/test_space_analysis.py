"""``tunesmith bench space-analysis`` as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.compare.records import record
from tests.cli.command import trials_in
from tests.cli.conftest import Command
from tunesmith.bench.papers import space_analysis_record
from tunesmith.bench.recording.record_space import SpacePart, restricted
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import matmul
from tunesmith.problem import MeasureSettings
from tunesmith.target import Target
from tunesmith.task import Task

WORDS = ["bench", "space-analysis"]


def test_recordings_become_figures_and_a_page(command: Command, tmp_path: Path) -> None:
    space, output = record(tmp_path), tmp_path / "new" / "figures"
    words = [*WORDS, "--quick", "--space", space, "--output", output]
    found = command(*words, "--json").json
    (row,) = found["spaces"]
    assert (row["name"], row["configs"], row["outcomes"]["NO_ERROR"]["configs"]) == (
        "one/gpu",
        144,
        132,
    )
    assert json.loads((output / "search-space-analysis.json").read_text()) == found
    page = (output / "search.md").read_text()
    assert "## NoSE: recorded spaces" in page
    assert {path.name for path in output.iterdir()} == {
        "search.md",
        "search-space-analysis.json",
        "search-space-analysis-outcomes.svg",
        "search-space-analysis-speeds.svg",
    }
    printed = command(*words).out
    assert "| one/gpu | compile device | 12 |" in printed


def test_a_whole_space_is_recorded_once(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = TaskProblem.of(Task(matmul(m=4, n=8, k=4), Target()), "cpu_gemm_424")
    where = ["tile_m[0] == 4", "tile_k[0] == 4", "tile_n[3] >= 4"]
    part = SpacePart(problem, restricted(problem.space, where), MeasureSettings(repeats=1))
    monkeypatch.setattr(space_analysis_record, "whole", lambda: part)
    words = [*WORDS, "--space", record(tmp_path), "-o", tmp_path, "--json"]
    first = command(*words).json
    assert [row["configs"] for row in first["spaces"]] == [144, 4]
    small = first["spaces"][1]
    assert small["flops"] == 2 * 4 * 8 * 4
    assert (small["where"], small["whole_size"]) == (where, problem.space.size)
    assert small["sketch"]["name"] == "cpu_gemm_424"
    again = command(*words).json
    assert again["spaces"] == first["spaces"]
    (store,) = tmp_path.glob("search-runs/**/tuning.db")
    assert trials_in(store) == 4


def test_usage_mistakes(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(*WORDS, "--quick").complaint == (
        "there are no recordings in data/replay: run this at the top of a checkout, or name T4 "
        "files with --space"
    )
    ran = command(*WORDS, "--quick", "--space", "matmul.512")
    assert ran.complaint.startswith("matmul.512 is no recording: name a T4 file")
    assert "there is no such file" in command(*WORDS, "--space", "none.json.gz").complaint
    record(tmp_path)
    (tmp_path / "search-space-analysis.json").write_text("{}")
    ran = command(*WORDS, "--quick", "--space", "one/gpu.json.gz", "-o", tmp_path)
    assert "holds no figures of 'tunesmith bench space-analysis'" in ran.complaint
