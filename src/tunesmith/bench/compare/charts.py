"""The charts of a comparison: bars of the data that its file holds, curves of its runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
    mean_shares,
    new_figure,
    share_axis,
    stacked_chart,
    styled,
)
from tunesmith.measurement import Outcome
from tunesmith.progress import PHASES
from tunesmith.reports import format as fmt
from tunesmith.reports.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = Mapping[str, Any]

CHARTS: Mapping[str, tuple[str, str]] = {
    "compare-scores.svg": ("Scores", "Of each tuner over all spaces, and on each."),
    "compare-time.svg": (
        "Best speed over time",
        "As a share of the optimum: the mean over repeats, in a band of one standard error.",
    ),
    "compare-trials.svg": (
        "Best speed over trials",
        "The same by the number of trials, which takes no account of how long they and the tuner's "
        "thinking last.",
    ),
    "compare-speed-up.svg": (
        "Speed-up at each time",
        "The best so far over that of the reference, the mean over problems, from when every run "
        "of both has found something; in a band of one standard error, from bootstrap replicas of "
        "the repeats of both.",
    ),
    "compare-time-split.svg": (
        "Time split",
        "What the time of tuning went to, in the mean over problems.",
    ),
    "compare-outcomes.svg": ("Outcomes", "Trials of each class, in the mean over problems."),
    "compare-outcome-times.svg": (
        "Time by outcome",
        "What trials of each class cost, in the mean over problems.",
    ),
}
"""The files in the order of the page, each with a title and what it shows."""

_PHASES = {
    "search": "thinking",
    "build": "building",
    "run": "running",
    "record": "keeping records",
    "idle": "idle",
}
_CLASSES = {
    Outcome.NO_ERROR: LIGHT["best"],
    Outcome.INSTANTIATION_ERROR: "#9aa5ae",
    Outcome.COMPILE_HOST: "#f0e442",
    Outcome.COMPILE_DEVICE: "#e69f00",
    Outcome.RUNTIME_DEVICE: "#d55e00",
    Outcome.WRONG_ANSWER: "#cc79a7",
    Outcome.BUILD_TIMEOUT: "#7a6500",
    Outcome.RUN_TIMEOUT: "#8f4f7d",
    Outcome.UNKNOWN_ERROR: "#17212b",
}
_WORST_SCORE = -1.0
_MOST_SPEED_UP = 4.0
_UNITS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-9, "ns"))


def bar_charts(data: Mapping[str, Any]) -> dict[str, Draw]:
    """Those that need no more than the data, by the names of their files."""
    rows, tuners = data["rows"], data["tuners"]
    labels = [row["tuner"] for row in tuners]
    return {
        "compare-scores.svg": lambda: score_chart(rows, tuners),
        "compare-time-split.svg": lambda: time_split_chart(rows, labels),
        "compare-outcomes.svg": lambda: outcomes_chart(rows, labels),
        "compare-outcome-times.svg": lambda: outcome_times_chart(rows, labels),
    }


def curve_charts(summary: Summary) -> dict[str, Draw]:
    """Those of the runs, by the names of their files."""
    return {
        "compare-time.svg": lambda: speed_time_chart(summary),
        "compare-trials.svg": lambda: speed_trials_chart(summary),
        "compare-speed-up.svg": lambda: speed_up_chart(summary),
    }


# -- bars ----------------------------------------------------------------------------------------


@styled
def score_chart(rows: Sequence[Row], tuners: Sequence[Row]) -> Figure | None:
    """The mean score of each tuner as a bar, those of the problems as dots; None without any."""
    dots = {
        tuner["tuner"]: [
            row["score"]
            for row in rows
            if row["tuner"] == tuner["tuner"] and row["score"] is not None
        ]
        for tuner in tuners
    }
    scored = [tuner for tuner in tuners if dots[tuner["tuner"]]]
    if not scored:
        return None
    low = max(_WORST_SCORE, min(0.0, *(score for each in dots.values() for score in each)))
    figure = new_figure(0.9 + 0.28 * len(scored))
    axes = figure.subplots()
    axes.set_yticks(range(len(scored)), [tuner["tuner"] for tuner in scored])
    axes.set_ylim(len(scored) - 0.4, -0.6)
    axes.set_xlim(low - 0.03 * (1 - low), 1.03)
    axes.axvline(0.0, color=LIGHT["ink"], linewidth=1)
    for place, tuner in enumerate(scored):
        shown = [max(low, score) for score in dots[tuner["tuner"]]]
        axes.scatter(shown, [place] * len(shown), 20, LIGHT["ink"], alpha=0.65, zorder=3)
        mean = tuner["score"]
        if mean is not None:
            colour = LIGHT["best"] if mean >= 0 else LIGHT["default"]
            axes.barh(place, max(low, mean), 0.55, color=colour, alpha=0.55)
            ends = (max(low, mean + sign * tuner["score_std"]) for sign in (-1, 1))
            axes.hlines(place, *ends, color=LIGHT["ink"], linewidth=1.8, zorder=4)
    if low == _WORST_SCORE:
        axes.set_xlabel(f"those under {low:g} are at {low:g}")
    axes.set_title(
        "score (paper): 0 is random search, 1 the optimum; a dot a problem, a line ± 1 std"
    )
    return figure


def time_split_chart(rows: Sequence[Row], labels: Sequence[str]) -> Figure:
    """What the time of tuning went to, in the mean over problems (NoSE, figure 6)."""
    named = [{**row, "time": {_PHASES[p]: s for p, s in row["time"].items()}} for row in rows]
    colours = {_PHASES[phase]: LIGHT[phase] for phase in PHASES}
    return stacked_chart("what the time went to", _means(named, labels, "time"), colours)


def outcomes_chart(rows: Sequence[Row], labels: Sequence[str]) -> Figure:
    """Trials of each class, in the mean over problems (NoSE, figure 7A)."""
    return outcome_chart("trials by outcome", _means(rows, labels, "outcomes"))


def outcome_times_chart(rows: Sequence[Row], labels: Sequence[str]) -> Figure:
    """The time that trials of each class cost, in the mean over problems (NoSE, figure 7B)."""
    shares = _means(rows, labels, "outcome_seconds")
    return outcome_chart("time of building and running by outcome", shares)


def outcome_chart(title: str, rows: Mapping[str, Mapping[str, float]]) -> Figure:
    """Bars of shares by the names of classes; the legend has the classes that occur."""
    there = {name for shares in rows.values() for name in shares}
    colours = {
        fmt.outcome_name(outcome): colour
        for outcome, colour in _CLASSES.items()
        if outcome.name in there
    }
    named = {
        label: {fmt.outcome_name(Outcome[name]): share for name, share in shares.items()}
        for label, shares in rows.items()
    }
    return stacked_chart(title, named, colours)


def _means(
    rows: Sequence[Row], labels: Sequence[str], field: str
) -> dict[str, Mapping[str, float]]:
    """By tuner the mean over the problems of the shares in a field."""
    return {
        label: mean_shares([row[field] for row in rows if row["tuner"] == label])
        for label in labels
    }


# -- curves --------------------------------------------------------------------------------------


def speed_time_chart(summary: Summary) -> Figure:
    """The best speed over the time of tuning, a panel a problem (NoSE, figures 5A and 8)."""
    return _panels(summary, speeds_over_time(summary), _time_axis)


def speed_trials_chart(summary: Summary) -> Figure:
    """The best speed over trials, a panel a problem."""
    return _panels(summary, speeds_over_trials(summary), _trials_axis)


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
