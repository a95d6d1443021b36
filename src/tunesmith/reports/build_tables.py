"""Tables of programs that were built but not run."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from tunesmith.reports import format as fmt


def resources_table(resources: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    """The GPU resources that each sketch's programs use: medians, and the best occupancy."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    table.add_column("sketch", no_wrap=True)
    for name in (
        "programs",
        "registers\na thread",
        "spilling",
        "threads\na block",
        "shared\na block",
        "occupancy",
        "at best",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for sketch, programs in resources.items():
        table.add_row(sketch, *_row(programs))
    return table


def _row(programs: Sequence[Mapping[str, Any]]) -> list[str]:
    def values(name: str) -> list[float]:
        return [float(one[name]) for one in programs if one[name] is not None]

    def median(name: str) -> str:
        return f"{statistics.median_low(values(name)):.0f}"

    occupancy = values("occupancy")
    spilling = sum(bytes > 0 for bytes in values("spilled_bytes"))
    return [
        fmt.count(len(programs)),
        median("registers"),
        fmt.share(spilling, len(programs)),
        median("threads"),
        f"{statistics.median(values('shared_bytes')) / 1024:.1f} KiB",
        fmt.percent(statistics.median(occupancy) if occupancy else None, 0),
        fmt.percent(max(occupancy, default=None), 0),
    ]
