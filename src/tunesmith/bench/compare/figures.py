"""The figures of a comparison that have curves, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tunesmith.bench.compare.curves import (
    Curve,
    Curves,
    speed_ups,
    speeds_over_time,
    speeds_over_trials,
)
from tunesmith.bench.compare.plot import Axis, Panel, legend, linear, pen_mark, pens, powers
from tunesmith.bench.compare.summary import Summary
from tunesmith.bench.pages import svg

_MARGIN, _GAP = 58.0, 70.0
_PANEL_HEIGHT, _PANEL_ROOM = 190.0, 270.0
_TIME_UNITS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-9, "ns"))


def speed_time_figure(summary: Summary) -> str:
    """The best speed over the time of tuning, a panel a problem (NoSE, figures 5A and 8)."""
    return _small_multiples(summary, speeds_over_time(summary), trials=False)


def speed_trials_figure(summary: Summary) -> str:
    """The best speed over trials, a panel a problem."""
    return _small_multiples(summary, speeds_over_trials(summary), trials=True)


def speed_up_figure(summary: Summary) -> str | None:
    """How many times as fast as the reference's is a tuner's best, over time (NoSE, figure 5B).

    None where that cannot be told.
    """
    told = speed_ups(summary)
    if told is None:
        return None
    reference, plot = told
    labels = summary.labels
    chosen = pens(labels)
    marks = {label: pen_mark(chosen[label]) for label in plot.curves}
    drawn, top = legend(20.0, marks)
    lows = [float((curve.mean - curve.error).min()) for curve in plot.curves.values()]
    highs = [float((curve.mean + curve.error).max()) for curve in plot.curves.values()]
    low, high = min(0.95, *lows), max(1.05, *highs)
    panel = Panel(
        (_MARGIN, top + 24),
        (svg.WIDTH - _MARGIN - 24, 300.0),
        linear(0.0, 1.0, lambda share: f"{share:.0%}"),
        linear(low, min(high, 4.0), lambda ratio: f"{ratio:g}×"),
        title=f"times as fast as the best of {reference}",
        x_title="share of the tuning time",
    )
    panel.level(1.0)
    for label, curve in plot.curves.items():
        panel.curve(curve, chosen[label])
    return svg.picture(top + 24 + 300 + 44, [*drawn, *panel.drawn])


def _small_multiples(summary: Summary, plots: Sequence[Curves], *, trials: bool) -> str:
    labels = summary.labels
    chosen = pens(labels)
    drawn, top = legend(20.0, {label: pen_mark(chosen[label]) for label in labels})
    columns = 1 if len(plots) == 1 else 2
    width = (svg.WIDTH - _MARGIN - 24 - (columns - 1) * _GAP) / columns
    for number, plot in enumerate(plots):
        row, column = divmod(number, columns)
        panel = Panel(
            (_MARGIN + column * (width + _GAP), top + 30 + row * _PANEL_ROOM),
            (width, _PANEL_HEIGHT),
            _x_axis(plot, trials=trials),
            _speed_axis(plot),
            title=plot.title,
            x_title="trials" if trials else "time of tuning",
        )
        for label, curve in plot.curves.items():
            panel.curve(curve, chosen[label])
        drawn += panel.drawn
    rows = math.ceil(len(plots) / columns)
    return svg.picture(top + 30 + rows * _PANEL_ROOM - 30, drawn)


def _x_axis(plot: Curves, *, trials: bool) -> Axis:
    last = max((float(curve.x[-1]) for curve in plot.curves.values()), default=1.0)
    return powers(last, lambda count: f"{count:,.0f}") if trials else _time_axis(last)


def _time_axis(last: float) -> Axis:
    """Seconds, with ticks at round numbers of the unit that suits them."""
    size, unit = next(each for each in _TIME_UNITS if last >= 4 * each[0])
    axis = linear(0.0, last / size, lambda _: "", count=6)
    ticks = [tick * size for tick in axis.ticks]
    return Axis(0.0, last, ticks, lambda seconds: f"{round(seconds / size, 6):g} {unit}")


def _speed_axis(plot: Curves) -> Axis:
    """Shares of the optimum: from 0, or from where all curves are soon after their start."""
    early = [_early(curve) for curve in plot.curves.values()]
    low = max(0.0, math.floor(min(early, default=0.0) * 20 - 1) / 20)
    return linear(min(low, 0.9) if low > 0.2 else 0.0, 1.0, lambda share: f"{share:.0%}", count=5)


def _early(curve: Curve) -> float:
    return float(curve.mean[len(curve.mean) // 12])
