"""The charts of a comparison that need no more than the data of its file: bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tunesmith.bench.pages.charts import Draw, mean_shares, new_figure, stacked_chart, styled
from tunesmith.measurement import Outcome
from tunesmith.progress import PHASES
from tunesmith.reports import format as fmt
from tunesmith.reports.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = Mapping[str, Any]

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
