"""The progress of builds in the terminal."""

from __future__ import annotations

import io

from rich.console import Console

from tunesmith.reports.build_progress import BuildProgress


def test_progress_in_lines_where_nothing_can_be_redrawn() -> None:
    now = 0.0
    console = Console(file=io.StringIO(), width=100)
    with BuildProgress(console, 4, clock=lambda: now) as progress:
        for done, second in ((1, 0.0), (2, 1.0), (3, 6.0), (4, 7.0)):
            now = second
            progress.update(done)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert lines == [
        "built 1 of 4, 0 s, about 0 s left",
        "built 3 of 4, 6.0 s, about 2.0 s left",
        "built 4 of 4, 7.0 s, about 0 s left",
    ]
