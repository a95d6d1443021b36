"""The front as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from tunesmith.reports import format as fmt
from tunesmith.reports.evolve.model import ProgramRow


def front_table(programs: Sequence[ProgramRow]) -> Table:
    """A row for each program, the fastest first."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for name in ("", "speed-up", "error", "held out: speed-up", "error", "edits"):
        table.add_column(name, justify="left" if name == "" else "right", no_wrap=True)
    for number, program in enumerate(programs, 1):
        table.add_row(
            str(number),
            f"{fmt.number(program.speedup)}×",
            error_text(program.error),
            f"{fmt.number(program.heldout_speedup)}×",
            error_text(program.heldout_error),
            str(len(program.edits)),
        )
    return table


def error_text(error: float) -> str:
    """An error: 0, 1.2e-05, 0.012."""
    return fmt.NOTHING if error == float("inf") else f"{error:.3g}"
