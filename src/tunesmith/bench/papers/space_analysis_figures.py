"""The pictures of ``tunesmith bench space-analysis``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tunesmith.bench.compare.bars import classes, shares_of, stacked
from tunesmith.bench.compare.curves import Curve
from tunesmith.bench.compare.plot import Panel, linear, pens, powers
from tunesmith.bench.pages import svg
from tunesmith.measurement import Outcome
from tunesmith.reports import format as fmt
from tunesmith.reports.palette import LIGHT

OUTCOMES = "search-space-analysis-outcomes.svg"
SPEEDS = "search-space-analysis-speeds.svg"

_LEFT, _GAP, _TOP = 58.0, 76.0, 40.0
_WIDTH, _HEIGHT, _ROOM = (svg.WIDTH - 58.0 - 24.0 - 76.0) / 2, 180.0, 260.0

Row = Mapping[str, Any]


def pictures(spaces: Sequence[Row]) -> dict[str, str]:
    """All of them, by the names of their files."""
    return {OUTCOMES: outcomes_figure(spaces), SPEEDS: speeds_figure(spaces)}


def outcomes_figure(spaces: Sequence[Row]) -> str:
    """Two bars a space: its configs by class, and the time that they cost (NoSE, figure 3)."""
    rows = {}
    for space in spaces:
        for words, field in (("configs", "configs"), ("time", "seconds")):
            amounts = {
                fmt.outcome_name(Outcome[name]): float(of[field])
                for name, of in space["outcomes"].items()
            }
            rows[f"{space['name']}, {words}"] = shares_of(amounts)
    return stacked(
        "configs, and the time of their trials, by outcome", classes(rows.values()), rows
    )


def speeds_figure(spaces: Sequence[Row]) -> str:
    """Two panels a space: how many valid configs have which speed (NoSE, figure 4), and how fast
    the best is that a random search has found."""
    drawn = []
    for number, space in enumerate(spaces):
        top = _TOP + number * _ROOM
        drawn += _histogram(space, (_LEFT, top)).drawn
        drawn += _random_search(space, (_LEFT + _WIDTH + _GAP, top)).drawn
    return svg.picture(_TOP + len(spaces) * _ROOM - 30, drawn)


def _histogram(space: Row, corner: svg.Point) -> Panel:
    counts = np.array(space["histogram"]) / space["configs"]
    panel = Panel(
        corner,
        (_WIDTH, _HEIGHT),
        linear(0.0, 1.0, lambda share: f"{share:.0%}"),
        linear(0.0, float(counts.max()), lambda share: f"{100 * share:.3g}%", count=4),
        title=f"{space['name']}: share of the configs",
        x_title="speed as a share of the best",
    )
    for number, count in enumerate(counts.tolist()):
        panel.column((number / len(counts), (number + 1) / len(counts)), count, LIGHT["best"])
    return panel


def _random_search(space: Row, corner: svg.Point) -> Panel:
    draws, reached = (
        np.array(column, dtype=float) for column in zip(*space["random"], strict=True)
    )
    panel = Panel(
        corner,
        (_WIDTH, _HEIGHT),
        powers(float(draws[-1]), lambda count: f"{count:,.0f}"),
        linear(0.0, 1.0, lambda share: f"{share:.0%}"),
        title="best of a random search, the mean",
        x_title="trials",
    )
    panel.curve(Curve(draws, reached, np.zeros(len(draws))), pens([""])[""])
    return panel
