"""The charts of ``tunesmith bench operators``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tunesmith.bench.operators.shapes import SHAPES
from tunesmith.bench.pages import ratio_chart as ratios
from tunesmith.bench.pages.share_chart import Runs, share_chart
from tunesmith.bench.peers.library_peers import library_peers
from tunesmith.reports.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = Mapping[str, Any]


def ratio_chart(rows: Sequence[Row]) -> Figure:
    """Speeds against all peers. All rows of a chart are of the suite of shapes, or none."""
    titles = {name: peer.title for name, peer in library_peers().items()}
    return ratios.ratio_chart(rows, titles, SHAPES)


def start_chart(rows: Sequence[Row]) -> Figure:
    """The best so far as a share of the final speed over trials, a line a workload, and their
    median."""
    curves = [(row["curve"], row["trials"]) for row in rows if row.get("curve")]
    title = "best so far as a share of the final speed, by trial; bold: the median"
    return share_chart(title, [Runs("median", LIGHT["best"], curves)])
