"""What is to be seen in a chart."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from tunesmith.bench.pages.charts import svg_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


def texts(figure: Figure | str) -> set[str]:
    """All that is written in a figure, or in its SVG; each text stays one text."""
    svg = figure if isinstance(figure, str) else svg_text(figure)
    return {"".join(e.itertext()) for e in ET.fromstring(svg).iter() if e.tag.endswith("}text")}


def points(line: Line2D) -> list[tuple[float, float]]:
    """Those that a line goes through."""
    return [(float(x), float(y)) for x, y in line.get_xydata().tolist()]


def dots(axes: Axes) -> list[tuple[float, float]]:
    """Where the dots of all scatter plots are, from left to right."""
    from matplotlib.collections import PathCollection

    scattered = (each for each in axes.collections if isinstance(each, PathCollection))
    return sorted((float(x), float(y)) for each in scattered for x, y in each.get_offsets())
