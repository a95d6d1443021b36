"""How the bests of each tuner's runs are distributed, as boxes (figure 8b of the G-BFS paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tunesmith.bench.compare.report.curve_charts import line_styles
from tunesmith.bench.pages.charts import new_figure, share_axis, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Shares = Mapping[str, npt.NDArray[np.float64]]
"""By tuner the best speed of each run, as a share of the best known."""


@styled
def box_chart(panels: Mapping[str, Shares], labels: Sequence[str]) -> Figure:
    """A panel for each title, with a box for each tuner that has runs.

    ``labels`` are all tuners of a comparison, so that each keeps its colour.
    """
    styles = line_styles(labels)
    rows = [label for label in labels if any(label in found for found in panels.values())]
    figure = new_figure(0.9 + 0.26 * len(rows))
    drawn = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (title, found) in zip(drawn, panels.items(), strict=True):
        boxes = axes.boxplot(
            list(found.values()),
            positions=[rows.index(label) for label in found],
            orientation="horizontal",
            widths=0.6,
            patch_artist=True,
        )
        for box, label in zip(boxes["boxes"], found, strict=True):
            box.set_facecolor(styles[label]["color"])
            box.set_alpha(0.7)
        for line in boxes["medians"]:
            line.set_color("black")
        axes.set_yticks(range(len(rows)), rows)
        axes.set_title(title)
        axes.set_xlabel("best speed of a run")
        share_axis(axes, of="x")
    drawn[0].invert_yaxis()
    return figure
