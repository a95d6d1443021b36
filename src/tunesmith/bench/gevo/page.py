"""The page ``evolve.md``, its data ``evolve.json``, and a picture of the fronts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunesmith.bench.gevo.cases import CASES
from tunesmith.bench.pages.charts import SERIES, factor_axis, new_figure, styled, svg_texts
from tunesmith.bench.pages.figure_files import (
    WAY_OUT,
    make_folder,
    read_figures,
    write_figures,
    write_texts,
)
from tunesmith.bench.pages.provenance import together
from tunesmith.bench.pages.templates import markdown
from tunesmith.errors import TunesmithError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "evolve"
FORMAT = 1
CHART = f"{NAME}-fronts.svg"

Figures = dict[str, Any]


def read_evolve(folder: Path) -> Figures:
    """What a folder has; empty figures if it has none.

    Raises ``TunesmithError`` for a file that holds something else.
    """
    make_folder(folder)
    path = folder / f"{NAME}.json"
    found = read_figures(path, lambda it: it.keys() >= {"format", "rows", "gpu"})
    if found is None:
        return {"format": FORMAT, "rows": [], "gpu": None}
    if found["format"] != FORMAT:
        raise TunesmithError(f"{path} holds figures of another version: {WAY_OUT}")
    return found


def with_row(figures: Figures, row: Mapping[str, Any]) -> Figures:
    """The figures with a row in the place of the one of its case, in the order of the cases."""
    others = [each for each in figures["rows"] if each["case"] != row["case"]]
    order = list(CASES)
    return {**figures, "rows": sorted([*others, row], key=lambda it: order.index(it["case"]))}


def write_evolve(folder: Path, figures: Figures) -> str:
    """Write the data, the picture and the page; returns the page.

    Raises ``TunesmithError`` where that is impossible.
    """
    write_figures(folder, NAME, figures)
    return write_evolve_page(folder, figures)


def write_evolve_page(folder: Path, figures: Mapping[str, Any]) -> str:
    """Write the page of the figures in the JSON file, and its picture; returns the page.

    Raises ``TunesmithError`` where that is impossible.
    """
    rows, edits = figures["rows"], figures.get("edits") or []
    drawn = svg_texts({CHART: lambda: _fronts(rows)})
    page = markdown(
        "gevo/page.md.jinja",
        figures=figures,
        rows=rows,
        cases=CASES,
        circumstances=together([row["origin"] for row in rows]) if rows else None,
        edits=edits,
        edits_circumstances=together([row["origin"] for row in edits]) if edits else None,
        gpu_circumstances=together([figures["gpu"]["origin"]]) if figures["gpu"] else None,
        charts=list(drawn),
    )
    write_texts(folder, {**drawn, f"{NAME}.md": page})
    return page


@styled
def _fronts(rows: list[dict[str, Any]]) -> Figure | None:
    """Speed-ups over errors, of the cases that may be wrong."""
    shown = [row for row in rows if CASES[row["case"]].error is not None and row["front"]]
    if not shown:
        return None
    figure = new_figure(3.2)
    axes = figure.add_subplot()
    for number, row in enumerate(shown):
        errors = [100 * point["error"] for point in row["front"]]
        speedups = [point["speedup"] for point in row["front"]]
        colour = SERIES[number % len(SERIES)]
        axes.plot(errors, speedups, "o-", color=colour, label=row["case"], markersize=4)
    factor_axis(axes)
    axes.set_xlabel("accuracy that is lost, in points")
    axes.set_ylabel("times as fast")
    axes.set_title("Fronts")
    axes.legend()
    return figure
