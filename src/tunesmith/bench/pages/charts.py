"""Charts in one style, by matplotlib, as SVG. They bring a light page of their own."""

from __future__ import annotations

import functools
import importlib.util
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tunesmith.reports.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SERIES = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a6500", "#4d4d4d"),
)
"""Okabe and Ito's colours, which people with any colour vision tell apart."""

DASHES = ("-", "--", ":")
"""In turn for more lines than there are colours."""

WIDTH = 9.2
"""Inches of every chart."""

# The columns of a legend that is short enough.
_MOST_COLUMNS = 6

_STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # no narrower than others, so that labels fit in those too
    "font.size": 8.5,
    "text.color": LIGHT["ink"],
    "axes.labelcolor": LIGHT["muted"],
    "axes.edgecolor": LIGHT["line"],
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "grid.color": LIGHT["line"],
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "xtick.color": LIGHT["line"],
    "xtick.labelcolor": LIGHT["ink"],
    "ytick.color": LIGHT["line"],
    "ytick.labelcolor": LIGHT["ink"],
    "figure.facecolor": LIGHT["page"],
    "axes.facecolor": LIGHT["page"],
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "tunesmith",  # ids that are the same each time
}
# None of them is written: the same figures make the same file.
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))

_TAG = re.compile(r"<[^>]+>")
_LONG_NUMBER = re.compile(r"\d+\.\d{3,}")
_SPACE = re.compile(r"\s+")
_NO_ROTATION = re.compile(r' transform="rotate\(-0 [^"]*"')

Draw = Callable[[], "Figure | None"]
"""Draws a chart; None where there is nothing to draw."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


def can_draw() -> bool:
    """Whether matplotlib is installed. Pages are written without it, too, and say so."""
    return importlib.util.find_spec("matplotlib") is not None


def styled(draw: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function that draws in the style of our charts."""

    @functools.wraps(draw)
    def drawn(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        from matplotlib import rc_context

        with rc_context(_STYLE):
            return draw(*args, **kwargs)

    return drawn


def new_figure(height: float) -> Figure:
    """An empty figure of so many inches, whose parts make room for each other."""
    from matplotlib.figure import Figure

    return Figure((WIDTH, height), layout="constrained")


def legend_above(
    figure: Figure, handles: Sequence[Artist] | None = None, labels: Sequence[str] = ()
) -> None:
    """A legend above a figure's parts, with as many columns as its width has room for.

    It is of all that has a label, or of the ``handles`` with the ``labels``.
    """
    chosen = () if handles is None else (handles, labels)
    for columns in range(_MOST_COLUMNS, 0, -1):
        legend = figure.legend(*chosen, loc="outside upper left", ncols=columns)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


@styled
def svg_text(figure: Figure) -> str:
    """A figure as an SVG element, with coordinates to a hundredth of a point."""
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata=_NO_METADATA)
    text = written.getvalue()
    return _TAG.sub(_short, text[text.index("<svg") :])


def _short(tag: re.Match[str]) -> str:
    """A tag in one line, without a rotation by nothing."""
    text = _SPACE.sub(" ", _LONG_NUMBER.sub(_rounded, tag[0])).replace(' "', '"')
    return _NO_ROTATION.sub("", text)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def svg_texts(charts: Mapping[str, Draw]) -> dict[str, str]:
    """The charts by the names of their files, but those that there is nothing to draw for.

    None of them where matplotlib is missing.
    """
    if not can_draw():
        return {}
    figures = {name: draw() for name, draw in charts.items()}
    return {name: svg_text(figure) for name, figure in figures.items() if figure is not None}


def count_axis(axes: Axes, last: float) -> None:
    """Make x a logarithmic axis of counts from 1 to the ``last``, which are written out."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("log")
    axes.set_xlim(1, max(last, 2))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if last < 5000 else (1,)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))


def factor_axis(axes: Axes) -> None:
    """Make y a logarithmic axis of factors, which are written out."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda factor, _: f"{factor:g}×"))


def share_axis(axes: Axes, *, of: str = "y") -> None:
    """Write the numbers of an axis in percent."""
    from matplotlib.ticker import FuncFormatter

    percent = FuncFormatter(lambda share, _: f"{round(100 * share, 3):g}%")
    (axes.yaxis if of == "y" else axes.xaxis).set_major_formatter(percent)


@styled
def stacked_chart(
    title: str, rows: Mapping[str, Mapping[str, float]], colours: Mapping[str, str]
) -> Figure:
    """A bar a row: its shares side by side, in the order and the ``colours`` given."""
    figure = new_figure(1.1 + 0.28 * len(rows))
    axes = figure.subplots()
    starts = [0.0] * len(rows)
    for name, colour in colours.items():
        widths = [shares.get(name, 0.0) for shares in rows.values()]
        axes.barh(list(rows), widths, 0.7, starts, color=colour, label=name)
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.set_xlim(0, 1)
    share_axis(axes, of="x")
    axes.set_title(title)
    if colours:
        legend_above(figure)
    return figure


def mean_shares(amounts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of what each name's share is of the sum of its amounts, where there are any."""
    found = [(each, total) for each in amounts if (total := sum(each.values())) > 0]
    names = dict.fromkeys(name for each, _ in found for name in each)
    return {
        name: sum(a.get(name, 0.0) / total for a, total in found) / len(found) for name in names
    }
