"""The progress of tuning and of a build: lines now and then, a bar in a terminal, and remarks."""

from __future__ import annotations

import io

from rich.console import Console

from tunesmith.cli.network.progress import BuildLines, NetworkLines
from tunesmith.networks import NetworkProgress
from tunesmith.networks.build.programs import BuildState
from tunesmith.operators import dense
from tunesmith.progress import Progress
from tunesmith.target import Target
from tunesmith.task import Task


def printed(*, terminal: bool) -> str:
    file, now = io.StringIO(), 0.0
    console = Console(file=file, force_terminal=terminal, width=100, color_system=None)
    with BuildLines(console, lambda: now) as lines:
        for done in range(1, 13):
            lines.update(BuildState("compiling", done, 12, "dense(n=8, k=16)"))
            now += 1.0
            if done == 7:
                lines.print("dense(n=8, k=16): cpu_gemm fails")
    return file.getvalue()


def test_lines_where_nothing_can_be_redrawn() -> None:
    last = "tasks, last dense(n=8, k=16)"
    assert printed(terminal=False).splitlines() == [
        f"compiling: 1 of 12 {last}",
        f"compiling: 6 of 12 {last}",
        "dense(n=8, k=16): cpu_gemm fails",
        f"compiling: 11 of 12 {last}",
        f"compiling: 12 of 12 {last}",
    ]


def test_a_bar_and_the_last_state_in_a_terminal() -> None:
    text = printed(terminal=True)
    assert text.count("compiling: 7 of 12") >= 1
    assert "cpu_gemm fails" in text
    assert "━" in text
    assert "compiling: 12 of 12" in text.splitlines()[-2]


FIRST, SECOND = (Task(dense(n=8, k=size), Target(cores=1)) for size in (16, 32))


def run_of(trials: int) -> Progress:
    return Progress(trials, trials, {}, 1e-3, None, {}, float(trials))


def tuned(*, terminal: bool) -> str:
    """Two tasks for 24 seconds: a trial each second."""
    file, now = io.StringIO(), 0.0
    console = Console(file=file, force_terminal=terminal, width=100, color_system=None)
    with NetworkLines(console, lambda: now) as lines:
        for number, task in enumerate((FIRST, SECOND)):
            for trials in range(12):
                timed = number + (trials > 0)
                run = run_of(trials) if trials else None
                state = NetworkProgress(task, number + 1, 2, now, 24.0, timed, 2e-3 * timed, run)
                lines.update(state)
                now += 1.0
    return file.getvalue()


def test_each_task_begins_with_a_line() -> None:
    first, second = FIRST.operator.label, SECOND.operator.label
    assert tuned(terminal=False).splitlines() == [
        f"{first}; 0 of 2 tasks have a time; about 24 s left",
        f"{first}, trial 5; 1 of 2 tasks have a time; about 19 s left",
        f"{first}, trial 10; 1 of 2 tasks have a time; about 14 s left",
        f"{second}; 1 of 2 tasks have a time; about 12 s left",
        f"{second}, trial 5; 2 of 2 tasks have a time, 4.00 ms a call; about 7.0 s left",
        f"{second}, trial 10; 2 of 2 tasks have a time, 4.00 ms a call; about 2.0 s left",
        f"{second}, trial 11; 2 of 2 tasks have a time, 4.00 ms a call; about 1.0 s left",
    ]


def test_a_terminal_has_a_bar_for_all_tasks() -> None:
    text = tuned(terminal=True)
    assert "━" in text
    assert "trial 7; 1 of 2 tasks have a time; about 17 s left" in text
    last = text.splitlines()[-2]
    assert f"{SECOND.operator.label}, trial 11; 2 of 2 tasks have a time, 4.00 ms a call" in last


def test_a_run_that_takes_longer_has_nothing_left() -> None:
    console = Console(file=io.StringIO(), width=100)
    state = NetworkProgress(FIRST, 1, 2, 25.0, 24.0, 0, 0.0, None)
    (line,) = NetworkLines(console).lines(state)
    assert line.endswith("; 0 of 2 tasks have a time; about 0 s left")
