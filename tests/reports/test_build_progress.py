"""The progress of builds in the terminal."""

from __future__ import annotations

import io

from rich.console import Console

from tunesmith.reports.build_progress import BuildProgress


def test_progress_in_lines_where_nothing_can_be_redrawn() -> None:
    times = iter([0.0, 0.0, 1.0, 6.0, 7.0])
    console = Console(file=io.StringIO(), width=100)
    with BuildProgress(console, 4, clock=lambda: next(times)) as progress:
        for done in (1, 2, 3, 4):
            progress.update(done)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert [line.partition(",")[0] for line in lines] == [
        "built 1 of 4",
        "built 3 of 4",
        "built 4 of 4",
    ]
