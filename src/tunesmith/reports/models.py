"""Tables of models: how good they are on tasks that they have not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table


def scores_table(rows: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row for each of several summaries of scores, by name."""
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for head in ("tasks", "rank corr.", "best of 1", "of 5", "of 20", "9 in 10: of 5", "recall 20"):
        table.add_column(head, justify="right")
    for name, each in rows.items():
        if not each["tasks"]:
            table.add_row(name, "0", *["-"] * 6)
            continue
        found = each["found"]
        table.add_row(
            name,
            str(each["tasks"]),
            f"{each['correlation']:.2f}",
            *(f"{100 * found[n]:.0f} %" for n in ("1", "5", "20")),
            f"{100 * each['found_tenth']['5']:.0f} %",
            f"{100 * each['recall']['20']:.0f} %",
        )
    return table


def models_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A row for each model, as ``Listed.to_json`` has it."""
    table = Table(box=None, pad_edge=False)
    for head in ("model", "trials", "tasks", "state"):
        table.add_column(head, justify="right" if head in ("trials", "tasks") else "left")
    for each in rows:
        counts = ["-" if each[name] is None else f"{each[name]:,}" for name in ("trials", "tasks")]
        table.add_row(each["name"], *counts, each["state"])
    return table
