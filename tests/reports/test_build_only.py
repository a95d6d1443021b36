"""What is shown of programs that were built and not run."""

from __future__ import annotations

import io

from rich.console import Console

from tunesmith.reports.build_progress import BuildProgress
from tunesmith.reports.tables import resources_table


def program(registers: int, spilled: int, occupancy: float | None) -> dict[str, float | None]:
    return {
        "registers": registers,
        "spilled_bytes": spilled,
        "shared_bytes": 3072,
        "threads": 256,
        "occupancy": occupancy,
    }


def text_of(resources: dict[str, list[dict[str, float | None]]]) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(resources_table(resources))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_what_programs_take() -> None:
    programs = [program(40, 0, 0.75), program(255, 16, 0.125), program(64, 0, 0.5)]
    text = text_of({"cuda_tiled": programs, "cuda_batch_matmul_opevo": [program(32, 0, None)]})
    rows = {
        line.split()[0]: " ".join(line.split()[1:]) for line in text.splitlines() if line.strip()
    }
    assert rows["cuda_tiled"] == "3 64 33 % 256 3.0 KiB 50 % 75 %"
    assert rows["cuda_batch_matmul_opevo"] == "1 32 0 % 256 3.0 KiB – –"
    assert max(map(len, text.splitlines())) <= 100


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
