"""The files of ``tunesmith bench scale``: data, a page and a chart."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunesmith.bench.pages.charts import (
    SERIES,
    count_axis,
    new_figure,
    share_axis,
    styled,
    svg_texts,
)
from tunesmith.bench.pages.figure_files import write_figures, write_texts
from tunesmith.bench.pages.templates import markdown
from tunesmith.bench.scale.fleet import FleetSettings
from tunesmith.bench.scale.goal import with_speedups

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "scale"
_CHART = "scale-busy.svg"


def scale_figures(
    origin: Mapping[str, Any],
    settings: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    goals: Sequence[Mapping[str, Any]],
    batches: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """All figures, JSON-ready: ``goals`` with their medians, and the ``load`` of the machine, its
    mean over the last 15 minutes."""
    about = {name: origin[name] for name in ("machine", "versions", "date")}
    return {
        **about,
        "settings": dict(settings),
        "load": os.getloadavg()[2],
        "rows": list(rows),
        "goals": with_speedups(goals),
        "batches": list(batches),
    }


def write_scale(folder: Path, figures: Mapping[str, Any]) -> str:
    """Write all files anew, each as a whole; returns the page.

    Raises ``TunesmithError`` where that is impossible.
    """
    write_figures(folder, NAME, figures)
    return write_scale_page(folder, figures)


def write_scale_page(folder: Path, figures: Mapping[str, Any]) -> str:
    """Write the page and its chart; returns the page. Raises as ``write_scale`` does."""
    charts = svg_texts({_CHART: lambda: busy_chart(figures["rows"])})
    page = markdown(
        "scale/page.md.jinja",
        figures=figures,
        fleet=asdict(FleetSettings()),
        charts=dict.fromkeys(charts, "busy devices over their number"),
    )
    write_texts(folder, {**charts, f"{NAME}.md": page})
    return page


@styled
def busy_chart(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """The share of their time in which devices measured, over how many there are."""
    figure = new_figure(3.2)
    axes = figure.subplots()
    count_axis(axes, max(row["devices"] for row in rows))
    share_axis(axes)
    axes.set_ylim(0, 1.02)
    for tuner, colour in zip(dict.fromkeys(row["tuner"] for row in rows), SERIES * 4, strict=False):
        points = sorted((row["devices"], row["busy"]) for row in rows if row["tuner"] == tuner)
        axes.plot(*zip(*points, strict=True), "o-", color=colour, label=tuner, markersize=4)
    axes.set_title("share of the devices' time in which they measured")
    axes.set_xlabel("devices")
    axes.legend(loc="lower left")
    return figure
