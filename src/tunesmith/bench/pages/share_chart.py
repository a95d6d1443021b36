"""A chart of what runs had reached by each trial, as a share of the best."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tunesmith.bench.pages.charts import count_axis, new_figure, share_axis, styled
from tunesmith.bench.pages.curves import FIRST_TRIALS, Steps, share_at
from tunesmith.reports.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WANTED = 0.8
"""Of the best, after the first 20 trials."""


@dataclass(frozen=True)
class Runs:
    """Runs of one colour: the curve of each and how many trials it had."""

    name: str
    colour: str
    curves: Sequence[tuple[Steps, int]]


@styled
def share_chart(title: str, groups: Sequence[Runs]) -> Figure:
    """Curves over trials: thin, each run; bold, the median of each group. Lines mark the first 20
    trials, and the 80 % that they shall reach."""
    figure = new_figure(4.3)
    axes = figure.subplots()
    last = max([trials for group in groups for _, trials in group.curves], default=FIRST_TRIALS)
    count_axis(axes, last)
    share_axis(axes)
    axes.set_ylim(0, 1.01)
    axes.axhline(WANTED, color=LIGHT["muted"], linewidth=1)
    axes.axvline(FIRST_TRIALS, color=LIGHT["muted"], linewidth=1)
    for group in groups:
        for steps, trials in group.curves:
            x, y = _held(steps, trials)
            axes.step(x, y, where="post", color=group.colour, linewidth=0.8, alpha=0.35)
    for group in groups:
        curves = [steps for steps, _ in group.curves]
        numbers = sorted({number for steps in curves for number, _ in steps})
        medians = [(n, statistics.median(share_at(steps, n) for steps in curves)) for n in numbers]
        x, y = _held(medians, last)
        axes.step(x, y, where="post", color=group.colour, linewidth=2.4, label=group.name)
    axes.set_title(title)
    axes.set_xlabel("trials")
    if len(groups) > 1:
        axes.legend(loc="lower right")
    return figure


def _held(steps: Steps, last: float) -> tuple[list[float], list[float]]:
    """From 0 at the first trial on, and level from the last step to the last trial."""
    points = [(1.0, 0.0), *steps]
    points.append((last, points[-1][1]))
    return [point[0] for point in points], [point[1] for point in points]
