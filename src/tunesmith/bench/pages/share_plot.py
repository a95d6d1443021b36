"""A plot of what runs had reached by each trial, as a share of the best."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from tunesmith.bench.pages import svg
from tunesmith.bench.pages.curves import FIRST_TRIALS, Steps, share_at
from tunesmith.reports.palette import LIGHT

_HEIGHT = 430.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 60.0, 896.0, 54.0, 390.0
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
_WANTED = 0.8


class SharePlot:
    """Curves over the trials up to ``last``, which are on a logarithmic scale.

    Lines mark the first 20 trials, and the 80 % that they shall reach.
    """

    def __init__(self, title: str, last: int) -> None:
        self._last = max(last, 2)
        self._drawn = [svg.text((_LEFT, 18), title, bold=True), *self._axes()]
        self._named = 0.0

    def name(self, name: str, colour: str) -> None:
        """Say in the legend what a colour stands for."""
        left = _LEFT + self._named
        self._drawn.append(svg.line((left, 33), (left + 16, 33), colour, 3))
        self._drawn.append(svg.text((left + 22, 37), name))
        self._named += 48 + 6.4 * len(name)

    def run(self, steps: Steps, trials: int, colour: str) -> None:
        """The curve of one run, thin, up to the last of its trials."""
        if steps:
            self._drawn.append(svg.path(self._steps(steps, trials), colour, 1, opacity=0.3))

    def median(self, curves: Sequence[Steps], colour: str) -> None:
        """The median of the curves, bold."""
        numbers = sorted({number for steps in curves for number, _ in steps})
        steps = [(n, statistics.median(share_at(steps, n) for steps in curves)) for n in numbers]
        if steps:
            self._drawn.append(svg.path(self._steps(steps, self._last), colour, 3))

    def picture(self) -> str:
        """The SVG file."""
        return svg.picture(_HEIGHT, self._drawn)

    def _axes(self) -> list[str]:
        drawn = []
        for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
            colour = LIGHT["muted"] if share == _WANTED else LIGHT["line"]
            drawn.append(svg.line((_LEFT, self._y(share)), (_RIGHT, self._y(share)), colour))
            drawn.append(svg.text((_LEFT - 6, self._y(share) + 4), f"{share:.0%}", anchor="end"))
        drawn += [
            svg.text((self._x(tick), _BOTTOM + 18), f"{tick}", anchor="middle")
            for tick in _TICKS
            if tick <= self._last
        ]
        drawn.append(svg.text((_RIGHT, _BOTTOM + 34), "trials", anchor="end"))
        first = self._x(min(FIRST_TRIALS, self._last))
        return [*drawn, svg.line((first, _TOP), (first, _BOTTOM), LIGHT["muted"])]

    def _steps(self, steps: Steps, trials: int) -> list[svg.Point]:
        """Level from one step to the next, and on to the last of the trials."""
        points, reached = [(_LEFT, self._y(0.0))], 0.0
        for number, share in steps:
            points += [(self._x(number), self._y(reached)), (self._x(number), self._y(share))]
            reached = share
        return [*points, (self._x(trials), self._y(reached))]

    def _x(self, trial: float) -> float:
        return _LEFT + math.log(trial) / math.log(self._last) * (_RIGHT - _LEFT)

    @staticmethod
    def _y(share: float) -> float:
        return _BOTTOM - share * (_BOTTOM - _TOP)
