"""What the figures of a comparison are drawn with: panels with axes, lines with bands, colours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tunesmith.bench.compare.curves import Curve
from tunesmith.bench.pages import svg
from tunesmith.reports.palette import LIGHT

# Okabe and Ito's, which people with any colour vision tell apart; then again, with dashes.
_COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a6500", "#4d4d4d"),
)
_DASHES = ("", "7,4", "2,3")


@dataclass(frozen=True)
class Pen:
    """How the lines of a tuner look."""

    colour: str
    dash: str


def pens(labels: Sequence[str]) -> Mapping[str, Pen]:
    """One for each label, in turn."""
    return {
        label: Pen(_COLOURS[i % len(_COLOURS)], _DASHES[i // len(_COLOURS) % len(_DASHES)])
        for i, label in enumerate(labels)
    }


@dataclass(frozen=True)
class Axis:
    """The values from ``low`` to ``high``, those at ``ticks`` written out by ``words``."""

    low: float
    high: float
    ticks: Sequence[float]
    words: Callable[[float], str]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """How far along the axis a value is; one beyond an end is put there."""
        inside = min(max(value, self.low), self.high)
        if self.logarithmic:
            return math.log(inside / self.low) / math.log(self.high / self.low)
        return (inside - self.low) / (self.high - self.low)


def linear(low: float, high: float, words: Callable[[float], str], count: int = 5) -> Axis:
    """An axis with about so many round ticks."""
    if not high > low:
        high = low + 1.0
    rough = (high - low) / count
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return Axis(low, high, [step * number for number in range(first, last + 1)], words)


def powers(high: float, words: Callable[[float], str]) -> Axis:
    """A logarithmic axis of counts, from 1."""
    high = max(high, 2.0)
    decades = range(math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if high < 5_000 else (1,)
    marks = [float(factor * 10**decade) for decade in decades for factor in factors]
    return Axis(1.0, high, [mark for mark in marks if mark <= high], words, logarithmic=True)


class Panel:
    """A plot within a picture, between the corners (left, top) and (right, bottom) of its axes."""

    def __init__(
        self, corner: svg.Point, size: svg.Point, x: Axis, y: Axis, *, title: str, x_title: str
    ) -> None:
        self._left, self._top = corner
        self._right, self._bottom = corner[0] + size[0], corner[1] + size[1]
        self._x, self._y = x, y
        self.drawn = [svg.text((self._left, self._top - 10), title, bold=True)]
        for tick in y.ticks:
            height = self._point(x.low, tick)[1]
            self.drawn.append(svg.line((self._left, height), (self._right, height), LIGHT["line"]))
            words = y.words(tick)
            self.drawn.append(svg.text((self._left - 6, height + 4), words, anchor="end"))
        for tick in x.ticks:
            place = (self._point(tick, y.low)[0], self._bottom + 16)
            self.drawn.append(svg.text(place, x.words(tick), anchor="middle"))
        place = (self._right, self._bottom + 31)
        self.drawn.append(svg.text(place, x_title, anchor="end", colour=LIGHT["muted"]))

    def level(self, value: float) -> None:
        """A line across the panel."""
        left, right = self._point(self._x.low, value), self._point(self._x.high, value)
        self.drawn.append(svg.line(left, right, LIGHT["muted"], 1.2))

    def column(self, ends: tuple[float, float], height: float, colour: str) -> None:
        """A bar from the bottom between two places of the x axis."""
        start, end = self._point(ends[0], height), self._point(ends[1], self._y.low)
        self.drawn.append(block(start, end, colour))

    def curve(self, curve: Curve, pen: Pen) -> None:
        """The mean as a line, and a band of one standard error to both sides."""
        means = list(zip(curve.x.tolist(), curve.mean.tolist(), strict=True))
        errors = curve.error.tolist()
        above = [self._point(x, y + e) for (x, y), e in zip(means, errors, strict=True)]
        below = [self._point(x, y - e) for (x, y), e in zip(means, errors, strict=True)]
        self.drawn.append(band([*above, *reversed(below)], pen.colour))
        self.drawn.append(stroke([self._point(x, y) for x, y in means], pen))

    def _point(self, x: float, y: float) -> svg.Point:
        return (
            self._left + self._x.share(x) * (self._right - self._left),
            self._bottom - self._y.share(y) * (self._bottom - self._top),
        )


def stroke(points: Sequence[svg.Point], pen: Pen) -> str:
    """Straight lines from point to point."""
    dash = f' stroke-dasharray="{pen.dash}"' if pen.dash else ""
    return (
        f'<polyline points="{_places(points)}" fill="none" stroke="{pen.colour}" '
        f'stroke-width="1.8" stroke-linejoin="round"{dash}/>'
    )


def band(points: Sequence[svg.Point], colour: str) -> str:
    """A faint area within these points."""
    return f'<polygon points="{_places(points)}" fill="{colour}" fill-opacity="0.14"/>'


def block(start: svg.Point, end: svg.Point, colour: str) -> str:
    """A filled rectangle between two of its corners, set off from its neighbours."""
    (x1, y1), (x2, y2) = start, end
    return (
        f'<rect x="{x1:.1f}" y="{y1:.1f}" width="{x2 - x1:.1f}" height="{y2 - y1:.1f}" '
        f'fill="{colour}" stroke="{LIGHT["page"]}" stroke-width="0.6"/>'
    )


def spot(place: svg.Point, colour: str) -> str:
    """A small circle that lets others show through."""
    x, y = place
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}" fill-opacity="0.65"/>'


Mark = Callable[[svg.Point], str]


def legend(top: float, entries: Mapping[str, Mark], left: float = 16.0) -> tuple[list[str], float]:
    """Names behind their marks, in as many lines as they need, and where these end."""
    drawn, at = [], left
    for name, mark in entries.items():
        width = 42 + 6.8 * len(name)
        if at > left and at + width > svg.WIDTH - 16:
            at, top = left, top + 18
        drawn += [mark((at, top)), svg.text((at + 22, top + 4), name)]
        at += width
    return drawn, top + 18


def pen_mark(pen: Pen) -> Mark:
    """A piece of a tuner's line."""
    return lambda place: stroke([place, (place[0] + 16, place[1])], pen)


def block_mark(colour: str) -> Mark:
    """A piece of a bar."""
    return lambda place: block((place[0] + 2, place[1] - 6), (place[0] + 15, place[1] + 6), colour)


def _places(points: Sequence[svg.Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
