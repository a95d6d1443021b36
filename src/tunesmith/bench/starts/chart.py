"""The chart of ``tunesmith bench starts``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tunesmith.bench.pages.share_chart import Runs, share_chart
from tunesmith.bench.starts.starts import RUNS, shares
from tunesmith.reports.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {"prior": LIGHT["best"], "no-prior": LIGHT["default"]}
_NAMES = {"prior": "with the model's starts", "no-prior": "without"}


def starts_chart(rows: Sequence[dict[str, Any]]) -> Figure:
    """The best so far as a share of the best of all, over trials: thin, each workload; bold, the
    median. ``rows`` are complete ones."""
    title = "best so far as a share of the best of all, by trial; bold: the median"
    groups = [
        Runs(
            _NAMES[run],
            _COLOURS[run],
            [(shares(row, run), row["runs"][run]["trials"]) for row in rows],
        )
        for run in RUNS
    ]
    return share_chart(title, groups)
