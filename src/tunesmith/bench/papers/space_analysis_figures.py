"""The charts of ``tunesmith bench space-analysis``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tunesmith.bench.compare.report.bar_charts import outcome_chart
from tunesmith.bench.pages.charts import (
    count_axis,
    mean_shares,
    new_figure,
    share_axis,
    styled,
    svg_texts,
)
from tunesmith.reports.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OUTCOMES = "search-space-analysis-outcomes.svg"
SPEEDS = "search-space-analysis-speeds.svg"

Row = Mapping[str, Any]


def pictures(spaces: Sequence[Row]) -> dict[str, str]:
    """All of them as SVG, by the names of their files; none without matplotlib."""
    return svg_texts(
        {OUTCOMES: lambda: outcomes_figure(spaces), SPEEDS: lambda: speeds_figure(spaces)}
    )


def outcomes_figure(spaces: Sequence[Row]) -> Figure:
    """Two bars a space: its configs by class, and the time that they cost (NoSE, figure 3)."""
    rows = {
        f"{space['name']}, {words}": mean_shares(
            [{name: float(of[field]) for name, of in space["outcomes"].items()}]
        )
        for space in spaces
        for words, field in (("configs", "configs"), ("time", "seconds"))
    }
    return outcome_chart("configs, and the time of their trials, by outcome", rows)


@styled
def speeds_figure(spaces: Sequence[Row]) -> Figure:
    """Two panels a space: how many valid configs have which speed (NoSE, figure 4), and how fast
    the best is that a random search has found."""
    figure = new_figure(2.7 * len(spaces))
    panels = figure.subplots(len(spaces), 2, squeeze=False)
    for space, (left, right) in zip(spaces, panels, strict=True):
        shares = [count / space["configs"] for count in space["histogram"]]
        edges = [number / len(shares) for number in range(len(shares))]
        left.bar(
            edges, shares, 1 / len(shares), align="edge", color=LIGHT["best"], edgecolor="white"
        )
        left.set_xlim(0, 1)
        share_axis(left, of="x")
        share_axis(left)
        left.set_title(f"{space['name']}: share of the configs")
        left.set_xlabel("speed as a share of the best")
        draws, reached = zip(*space["random"], strict=True)
        count_axis(right, draws[-1])
        right.plot(draws, reached, color=LIGHT["best"], marker="o", markersize=3.5)
        right.set_ylim(0, 1.02)
        share_axis(right)
        right.set_title("best of a random search, the mean")
        right.set_xlabel("trials")
    return figure
