"""The progress of a build: lines now and then, a bar in a terminal, and remarks that stay."""

from __future__ import annotations

import io

from rich.console import Console

from tunesmith.cli.network.progress import BuildLines
from tunesmith.networks.build.programs import BuildState


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
