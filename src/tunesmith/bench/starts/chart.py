"""The picture of ``tunesmith bench starts``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunesmith.bench.pages.curves import FIRST_TRIALS
from tunesmith.bench.pages.share_plot import SharePlot
from tunesmith.bench.starts.starts import RUNS, shares
from tunesmith.reports.palette import LIGHT

_COLOURS = {"prior": LIGHT["best"], "no-prior": LIGHT["default"]}
_NAMES = {"prior": "with the model's starts", "no-prior": "without"}


def starts_chart(rows: Sequence[dict[str, Any]]) -> str:
    """The best so far as a share of the best of all, over trials: thin, each workload; bold, the
    median. ``rows`` are complete ones."""
    last = max([run["trials"] for row in rows for run in row["runs"].values()] or [FIRST_TRIALS])
    plot = SharePlot("best so far as a share of the best of all, by trial; bold: the median", last)
    for run in RUNS:
        plot.name(_NAMES[run], _COLOURS[run])
        for row in rows:
            plot.run(shares(row, run), row["runs"][run]["trials"], _COLOURS[run])
    for run in RUNS:
        plot.median([shares(row, run) for row in rows], _COLOURS[run])
    return plot.picture()
