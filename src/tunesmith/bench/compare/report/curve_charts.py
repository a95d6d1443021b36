"""The charts of a comparison that need its runs: curves over time and over trials."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tunesmith.bench.compare.curves import (
    Curve,
    Curves,
    speed_ups,
    speeds_over_time,
    speeds_over_trials,
)
from tunesmith.bench.compare.summary import Summary
from tunesmith.bench.pages.charts import (
    DASHES,
    SERIES,
    Draw,
    count_axis,
    legend_above,
    new_figure,
    share_axis,
    styled,
)
from tunesmith.reports.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_SPEED_UP = 4.0
_UNITS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-9, "ns"))


def curve_charts(summary: Summary) -> dict[str, Draw]:
    """Those of the runs, by the names of their files."""
    return {
        "compare-time.svg": lambda: speed_time_chart(summary),
        "compare-trials.svg": lambda: speed_trials_chart(summary),
        "compare-speed-up.svg": lambda: speed_up_chart(summary),
    }


def speed_time_chart(summary: Summary) -> Figure:
    """The best speed over the time of tuning, a panel a problem (NoSE, figures 5A and 8)."""
    return _panels(summary, speeds_over_time(summary), _time_axis)


def speed_trials_chart(summary: Summary, ends: Mapping[str, int] | None = None) -> Figure:
    """The best speed over trials, a panel a problem; see ``speeds_over_trials``."""
    return _panels(summary, speeds_over_trials(summary, ends), _trials_axis)


@styled
def speed_up_chart(summary: Summary) -> Figure | None:
    """How many times as fast as the reference's is a tuner's best, over time (NoSE, figure 5B).

    None where that cannot be told.
    """
    told = speed_ups(summary)
    if told is None:
        return None
    reference, plot = told
    figure = new_figure(4.2)
    axes = figure.subplots()
    styles = line_styles(summary.labels)
    for label, curve in plot.curves.items():
        draw_curve(axes, curve, label=label, **styles[label])
    lows = [float((curve.mean - curve.error).min()) for curve in plot.curves.values()]
    highs = [float((curve.mean + curve.error).max()) for curve in plot.curves.values()]
    axes.set_ylim(min(0.95, *lows), min(max(1.05, *highs), _MOST_SPEED_UP))
    axes.set_xlim(0, 1)
    share_axis(axes, of="x")
    axes.axhline(1.0, color=LIGHT["muted"], linewidth=1.2)
    axes.set_title(f"times as fast as the best of {reference}")
    axes.set_xlabel("share of the tuning time")
    legend_above(figure)
    return figure


def line_styles(labels: Sequence[str]) -> dict[str, dict[str, str]]:
    """How the line of each label looks: a colour, and a dash once all colours are taken."""
    return {
        label: {
            "color": SERIES[place % len(SERIES)],
            "linestyle": DASHES[place // len(SERIES) % len(DASHES)],
        }
        for place, label in enumerate(labels)
    }


def draw_curve(axes: Axes, curve: Curve, *, color: str, linestyle: str, label: str = "") -> None:
    """The mean as a line, and a band of one standard error to both sides."""
    axes.plot(curve.x, curve.mean, color=color, linestyle=linestyle, label=label)
    low, high = curve.mean - curve.error, curve.mean + curve.error
    axes.fill_between(curve.x, low, high, color=color, alpha=0.14, linewidth=0)


@styled
def _panels(
    summary: Summary, plots: Sequence[Curves], draw_axis: Callable[[Axes, Curves], float]
) -> Figure:
    columns = min(2, len(plots))
    lines = math.ceil(len(plots) / columns)
    figure = new_figure(0.5 + 2.7 * lines)
    styles = line_styles(summary.labels)
    panels = figure.subplots(lines, columns, squeeze=False).flatten()
    for axes, plot in zip(panels, plots, strict=False):
        size = draw_axis(axes, plot)
        for label, curve in plot.curves.items():
            draw_curve(axes, Curve(curve.x / size, curve.mean, curve.error), **styles[label])
        axes.set_ylim(_lowest(plot), 1.02)
        share_axis(axes)
        axes.set_title(plot.title)
    for axes in panels[len(plots) :]:
        axes.remove()
    drawn = [label for label in summary.labels if any(label in plot.curves for plot in plots)]
    handles = [panels[0].plot([], [], **styles[label])[0] for label in drawn]
    legend_above(figure, handles, drawn)
    return figure


def _trials_axis(axes: Axes, plot: Curves) -> float:
    count_axis(axes, _last(plot))
    axes.set_xlabel("trials")
    return 1.0


def _time_axis(axes: Axes, plot: Curves) -> float:
    """In the unit that suits the times; returns its seconds."""
    last = _last(plot)
    size, unit = next(each for each in _UNITS if last >= 4 * each[0])
    axes.set_xlim(0, last / size)
    axes.set_xlabel(f"time of tuning, {unit}")
    return size


def _last(plot: Curves) -> float:
    return max((float(curve.x[-1]) for curve in plot.curves.values()), default=1.0)


def _lowest(plot: Curves) -> float:
    """The least share to show: 0, or where all curves are soon after their start."""
    early = [float(curve.mean[len(curve.mean) // 12]) for curve in plot.curves.values()]
    low = math.floor(min(early, default=0.0) * 20 - 1) / 20
    return min(low, 0.9) if low > 0.2 else 0.0
