"""The pictures of ``tunesmith bench operators``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.bench.operators.shapes import SHAPES
from tunesmith.bench.pages import svg
from tunesmith.bench.pages.curves import FIRST_TRIALS
from tunesmith.bench.pages.share_plot import SharePlot
from tunesmith.bench.peers.library_peers import library_peers
from tunesmith.reports.palette import LIGHT

Row = Mapping[str, Any]

_LEFT, _RIGHT, _TOP, _BOTTOM = 210, svg.WIDTH - 24, 54, 30
_LINE = 17
_COLOURS = {
    "pytorch": "#cc79a7",
    "onednn": "#e69f00",
    "onednn-blocked": "#8f4f7d",
    "torch-compile": "#7a6500",
    "onnxruntime": "#009e73",
    "openvino": "#0072b2",
    "numpy": "#9aa5ae",
}
_TICKS = (0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
# Ratios beyond these are drawn at the edge.
_LEAST, _MOST = 0.4, 16.0


@dataclass(frozen=True)
class _Scale:
    """Ratios on a logarithmic scale; those beyond its ends are put there."""

    low: float
    high: float

    @classmethod
    def of(cls, rows: Sequence[Row]) -> _Scale:
        ratios = [peer["ratio"] for row in rows for peer in row["peers"].values()] or [1.0]
        return cls(
            max(_LEAST, min(0.8, *ratios) / 1.1),
            min(_MOST, max(1.5, *ratios) * 1.1),
        )

    def x(self, ratio: float) -> float:
        inside = min(max(ratio, self.low), self.high)
        share = math.log(inside / self.low) / math.log(self.high / self.low)
        return _LEFT + share * (_RIGHT - _LEFT)

    def ticks(self) -> list[tuple[float, str]]:
        """Places with what stands there; an end that may stand for more says so."""
        inside = [(tick, f"{tick:g}") for tick in _TICKS if self.low <= tick <= self.high]
        below = [(_LEAST, f"≤ {_LEAST:g}")] if self.low == _LEAST else []
        above = [(_MOST, f"≥ {_MOST:g}")] if self.high == _MOST else []
        return [*below, *inside, *above]


def ratio_chart(rows: Sequence[Row]) -> str:
    """One line a workload: a bar from 1 to the ratio to its best peer, with its 95 % interval, and
    a dot for each peer."""
    scale = _Scale.of(rows)
    height = _TOP + _LINE * len(rows) + _BOTTOM
    title = "times as fast as the peer; a bar ends at the best peer, a line is its 95 % interval"
    drawn = [svg.text((_LEFT, 16), title, bold=True), *_legend()]
    for tick, words in scale.ticks():
        colour, wide = (LIGHT["ink"], 1.2) if tick == 1 else (LIGHT["line"], 1)
        x, bottom = scale.x(tick), height - _BOTTOM
        drawn.append(svg.line((x, _TOP - 6), (x, bottom + 4), colour, wide))
        drawn.append(svg.text((x, bottom + 18), words, anchor="middle"))
    for number, row in enumerate(rows):
        drawn += _row(row, _TOP + _LINE * number + _LINE / 2, scale)
    return svg.picture(height, drawn)


def _legend() -> list[str]:
    drawn, left = [], float(_LEFT)
    for name, peer in library_peers().items():
        drawn.append(svg.dot((left + 4, 33), _COLOURS[name]))
        drawn.append(svg.text((left + 12, 37), peer.title))
        left += 34 + 6.4 * len(peer.title)
    return drawn


def _row(row: Row, y: float, scale: _Scale) -> list[str]:
    name = row["workload"].removeprefix(SHAPES)  # all of a picture have it, or none
    drawn = [svg.text((_LEFT - 8, y + 4), name, anchor="end")]
    if row["best_peer"] is None:
        return drawn
    best = row["peers"][row["best_peer"]]
    colour = LIGHT["best"] if best["ratio"] >= 1 else LIGHT["default"]
    start, end = sorted((scale.x(1.0), scale.x(best["ratio"])))
    drawn.append(svg.bar((start, y - 5), (max(end, start + 0.5), y + 5), colour))
    on_top = sorted(row["peers"], key=lambda name: bool(name == row["best_peer"]))
    drawn += [svg.dot((scale.x(row["peers"][name]["ratio"]), y), _COLOURS[name]) for name in on_top]
    bounds = ((scale.x(best["low"]), y), (scale.x(best["high"]), y))
    return [*drawn, svg.line(*bounds, LIGHT["ink"], 1.6)]


def start_chart(rows: Sequence[Row]) -> str:
    """The best so far as a share of the final speed over trials, a line a workload, and their
    median."""
    tuned = [row for row in rows if row.get("curve")]
    last = max([row["trials"] for row in tuned] or [FIRST_TRIALS])
    plot = SharePlot("best so far as a share of the final speed, by trial; bold: the median", last)
    for row in tuned:
        plot.run(row["curve"], row["trials"], LIGHT["best"])
    plot.median([row["curve"] for row in tuned], LIGHT["best"])
    return plot.picture()
