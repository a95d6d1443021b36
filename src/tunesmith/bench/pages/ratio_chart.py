"""A chart of speeds against peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tunesmith.bench.pages.charts import new_figure, styled
from tunesmith.reports.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = Mapping[str, Any]

_COLOURS = {
    "pytorch": "#cc79a7",
    "onednn": "#e69f00",
    "onednn-blocked": "#8f4f7d",
    "torch-compile": "#7a6500",
    "onnxruntime": "#009e73",
    "openvino": "#0072b2",
    "numpy": "#9aa5ae",
}
_TICKS = (0.5, 0.8, 1.0, 1.4, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
# Ratios beyond these are drawn at the edge.
LEAST, MOST = 0.4, 16.0


@styled
def ratio_chart(rows: Sequence[Row], titles: Mapping[str, str], prefix: str = "") -> Figure:
    """One line a workload: a bar from 1 to the ratio to its best peer, with its 95 % interval, and
    a dot for each peer.

    ``titles`` are those of the peers by name. Names of workloads are shown without ``prefix``.
    """
    figure = new_figure(1.2 + 0.185 * max(1, len(rows)))
    axes = figure.subplots()
    axes.set_xscale("log")
    low, high = _limits(rows)
    axes.set_xlim(low, high)
    axes.set_xticks(*_ticks(low, high))
    axes.set_xticks([], minor=True)
    axes.set_yticks(range(len(rows)), [row["workload"].removeprefix(prefix) for row in rows])
    axes.set_ylim(max(1, len(rows)) - 0.4, -0.6)
    axes.tick_params("y", length=0)
    axes.tick_params("x", labeltop=True)
    axes.axvline(1.0, color=LIGHT["ink"], linewidth=1)
    for place, row in enumerate(rows):
        if row["best_peer"] is not None:
            best = row["peers"][row["best_peer"]]
            colour = LIGHT["best"] if best["ratio"] >= 1 else LIGHT["default"]
            end = min(max(best["ratio"], low), high)
            axes.barh(place, end - 1.0, 0.6, 1.0, color=colour, alpha=0.5)
            axes.hlines(place, best["low"], best["high"], color=LIGHT["ink"], zorder=5)
    for name, title in titles.items():
        dots = [
            (min(max(row["peers"][name]["ratio"], low), high), place, row["best_peer"] == name)
            for place, row in enumerate(rows)
            if name in row["peers"]
        ]
        for is_best in (False, True):  # which is on top
            x, y = ([dot[i] for dot in dots if dot[2] == is_best] for i in (0, 1))
            label = "" if is_best else title
            axes.scatter(
                x,
                y,
                26,
                _COLOURS[name],
                label=label,
                zorder=3 + is_best,
                clip_on=False,
                linewidth=0,
            )
    axes.set_title(
        "times as fast as the peer; a bar ends at the best peer, a line is its 95 % interval"
    )
    figure.legend(loc="outside upper left", ncols=7, handletextpad=0.1, columnspacing=1.2)
    return figure


def _limits(rows: Sequence[Row]) -> tuple[float, float]:
    peers = [
        (peer, name == row["best_peer"]) for row in rows for name, peer in row["peers"].items()
    ]
    lows = [peer["low" if is_best else "ratio"] for peer, is_best in peers]
    highs = [peer["high" if is_best else "ratio"] for peer, is_best in peers]
    return max(LEAST, min([0.8, *lows]) / 1.1), min(MOST, max([1.5, *highs]) * 1.1)


def _ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """Places with what stands there; an end that may stand for more says so."""
    inside = [(tick, f"{tick:g}") for tick in _TICKS if low <= tick <= high]
    below = [(LEAST, f"≤ {LEAST:g}")] if low == LEAST else []
    above = [(MOST, f"≥ {MOST:g}")] if high == MOST else []
    ticks = [*below, *inside, *above]
    return [tick for tick, _ in ticks], [words for _, words in ticks]
