from __future__ import annotations

import dataclasses

import pytest
from rich.console import Console
from rich.table import Table

from tests.reports.networks.samples import large_network, measured_network, task
from tunesmith.reports.networks.tables import (
    call_summary,
    call_table,
    tasks_summary,
    tasks_table,
    uncovered_line,
)


def printed(table: Table) -> list[str]:
    console = Console(width=100, highlight=False)
    with console.capture() as captured:
        console.print(table)
    return captured.get().splitlines()


def rows_of(lines: list[str]) -> list[list[str]]:
    """The cells of each row that has a share of time."""
    return [[cell for cell in line.split("  ") if cell.strip()] for line in lines if " %" in line]


def test_the_dearest_task_is_first_and_shares_are_of_all() -> None:
    lines = printed(tasks_table(measured_network().tasks))
    first, second = rows_of(lines)
    assert [cell.strip() for cell in first[-7:]] == [
        *("1", "30.0 µs", "60 %", "100.0", "50 % mem", "cpu_direct", "–"),
    ]
    assert [cell.strip() for cell in second[-7:]] == [
        *("2", "20.0 µs", "40 %", "100.0", "50 %", "cpu_direct", "2.00× OpenVINO"),
    ]


def test_without_peers_there_is_no_column_for_them() -> None:
    assert not any("peer" in line for line in printed(tasks_table(large_network().tasks)))


@pytest.mark.parametrize("peer", [{}, {"oneDNN, blocked": 2e-5}])
def test_tables_fit(peer: dict[str, float]) -> None:
    row = dataclasses.replace(
        task(1, layers=48), brief="conv2d " + "1024×" * 30, sketch="cpu_scheduled_rows", peers=peer
    )
    lines = printed(tasks_table([row]))
    assert max(map(len, lines)) <= 100
    assert "cpu_scheduled_rows" in "".join(lines)
    assert "".join(line.strip().split("  ")[0] for line in lines).count("1024×") == 30


def test_a_task_without_a_time_comes_last() -> None:
    unknown = dataclasses.replace(task(50), seconds=None, sketch="", origin="")
    lines = [line for line in printed(tasks_table([unknown, task(0)])) if "×7×7 →" in line]
    assert ["0×7×7" in lines[0], "50×7×7" in lines[1]] == [True, True]
    assert lines[1].count("–") == 5
    assert tasks_summary([unknown]) == "0 of 1 tasks have a time"
    assert tasks_summary([unknown, task(0)]) == (
        "1 of 2 tasks have a time: 10.0 µs in all, 50 % of the machine's peak"
    )


def test_a_call_by_function_with_the_runtime() -> None:
    call = measured_network().call
    assert call is not None
    lines = printed(call_table(call))
    cells = [[cell.strip() for cell in row] for row in rows_of(lines)]
    assert [row[1:4] for row in cells] == [
        ["1", "33.0 µs", "47 %"],
        ["2", "24.0 µs", "34 %"],
        ["1", "5.00 µs", "7 %"],
        ["8.00 µs", "11 %", "–"],
    ]
    assert [row[0] for row in cells[2:]] == ["fused_take_multiply", "runtime"]
    assert call_summary(call) == "70.0 µs a call, 7 % of it in 1 function without an operator"


def test_operations_that_no_operator_covers() -> None:
    assert uncovered_line([]) == ""
    assert uncovered_line(["take", "reshape", "take"]) == (
        "3 operations that no operator covers: reshape, take"
    )
