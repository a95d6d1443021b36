from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from rich.console import Console
from rich.table import Table

from tunesmith.measurement import Outcome
from tunesmith.reports.tables import (
    WIDTH,
    HistoryRow,
    ResultRow,
    history_table,
    outcomes_table,
    resources_table,
    results_table,
    sketches_table,
)

DEFAULT = ResultRow("default schedule", 5.77e-3)
RESULTS = (ResultRow("best found", 2.01e-3, best=True), ResultRow("PyTorch", None), DEFAULT)


def _lines(table: Table) -> list[str]:
    file = io.StringIO()
    # Wide enough that a table which asks for too much shows it.
    Console(file=file, width=WIDTH).print(table)
    lines = file.getvalue().splitlines()
    assert all(len(line) <= WIDTH for line in lines)
    assert "…" not in file.getvalue()
    return lines


def _cells(lines: list[str], first: str) -> list[str]:
    line = next(line for line in lines if line.strip().startswith(first))
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_results_compare_with_the_baseline() -> None:
    lines = _lines(results_table(RESULTS, 231e6, DEFAULT))
    head = ["program", "time a call", "GFLOP/s", "against the default schedule"]
    assert _cells(lines, "program") == head
    assert _cells(lines, "best found") == ["best found", "2.01 ms", "115", "2.87×"]
    assert _cells(lines, "PyTorch") == ["PyTorch", "–", "–", "–"]
    assert _cells(lines, "default") == ["default schedule", "5.77 ms", "40.0", "1.00×"]


def test_results_without_baseline_or_flops() -> None:
    lines = _lines(results_table(RESULTS, None))
    assert _cells(lines, "program") == ["program", "time a call", "calls/s"]
    assert _cells(lines, "best found") == ["best found", "2.01 ms", "498"]


def test_history_keeps_every_number_whole() -> None:
    started = datetime(2025, 11, 20, 14, 3, tzinfo=UTC)
    rows = [
        HistoryRow(started, "genetic", 12500, 2.01e-3, 5.77e-3, 231e6, "cpu_tiled"),
        HistoryRow(started, "random", 0, None),
    ]
    lines = _lines(history_table(rows))
    numbers = _cells(lines, "2025-11-20 14:03")[-6:]
    assert numbers == ["genetic", "cpu_tiled", "12,500", "2.01 ms", "115 GFLOP/s", "2.87×"]
    assert _cells([line for line in lines if "random" in line], "2025")[-3:] == ["–", "–", "–"]


@pytest.mark.parametrize("name", ["[red]name[/red]", "[/]", "[link=x]y"])
def test_a_name_in_brackets_is_a_name(name: str) -> None:
    lines = _lines(results_table([ResultRow(name, 1.0)], None))
    assert _cells(lines, "[")[0] == name


def test_a_name_too_long_is_folded_not_cut() -> None:
    lines = _lines(results_table([ResultRow("x" * 300, 1.0)], None))
    assert sum(line.count("x") for line in lines) == 300


def test_outcomes_show_only_the_classes_that_occurred() -> None:
    lines = _lines(outcomes_table({Outcome.BUILD_TIMEOUT: 50, Outcome.NO_ERROR: 150}))
    assert _cells(lines, "valid") == ["valid", "150", "75 %", Outcome.NO_ERROR.meaning]
    assert _cells(lines, "build") == ["build timeout", "50", "25 %", Outcome.BUILD_TIMEOUT.meaning]
    assert not any("wrong answer" in line for line in lines)


def test_all_outcomes_fit() -> None:
    lines = _lines(outcomes_table(dict.fromkeys(Outcome, 123456)))
    assert all(any(outcome.meaning in line for line in lines) for outcome in Outcome)


def test_sketches_are_sorted_by_their_best() -> None:
    rows = [("slow", 20, 4e-3), ("failing", 3, None), ("fast", 1200, 2.01e-3)]
    lines = _lines(sketches_table(rows, "fast", 231e6))
    assert _cells(lines, "sketch") == ["sketch", "trials", "best trial", "GFLOP/s"]
    assert _cells(lines, "fast") == ["fast", "1,200", "2.01 ms", "115"]
    assert _cells(lines, "failing") == ["failing", "3", "–", "–"]
    names = [line.split()[0] for line in lines if line.split()]
    assert [name for name in names if name in {"slow", "failing", "fast"}] == [
        "fast",
        "slow",
        "failing",
    ]


def _program(registers: int, spilled: int, occupancy: float | None) -> dict[str, float | None]:
    return {
        "registers": registers,
        "spilled_bytes": spilled,
        "shared_bytes": 3072,
        "threads": 256,
        "occupancy": occupancy,
    }


def test_resources_are_medians_of_the_programs_of_a_sketch() -> None:
    programs = [_program(40, 0, 0.75), _program(255, 16, 0.125), _program(64, 0, 0.5)]
    unknown = [_program(32, 0, None)]
    lines = _lines(resources_table({"cuda_tiled": programs, "cuda_batch_matmul_opevo": unknown}))
    cells = ["3", "64", "33 %", "256", "3.0 KiB", "50 %", "75 %"]
    assert _cells(lines, "cuda_tiled") == ["cuda_tiled", *cells]
    cells = ["1", "32", "0 %", "256", "3.0 KiB", "–", "–"]
    assert _cells(lines, "cuda_batch_matmul_opevo") == ["cuda_batch_matmul_opevo", *cells]
