"""The dashboard's own figures, in the colours of a light page; `painted` makes them dark."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from tunesmith.dashboard.curves import Curve, Point
from tunesmith.dashboard.importance import Parameter
from tunesmith.dashboard.text import clean
from tunesmith.reports import format as fmt
from tunesmith.reports.drawing import Plot
from tunesmith.reports.figures import Figure, time_axis
from tunesmith.reports.palette import DARK, LIGHT
from tunesmith.store.aggregates import Trial

RUN_COLOURS: Final = ("best", "default", "run", "search", "build", "peer3")
"""Those of the runs of a figure, in turn."""

MOST_AXES: Final = 8
_MOST_BARS = 12
# An axis of more values than this has the first and the last one written at it, and some between.
_MOST_TICKS = 7
_LONGEST_TICK = 14


def painted(plot: Plot, dark: bool) -> dict[str, Any]:
    """A plot for Plotly, in the colours of the page."""
    plain = json.loads(plot.figure.to_json())
    plain["layout"]["uirevision"] = "kept"  # what the user has zoomed into stays
    return _darkened(plain) if dark else plain  # type: ignore[no-any-return]


_DARK_OF: Final = {LIGHT[name]: DARK[name] for name in LIGHT}


def _darkened(part: Any) -> Any:
    if isinstance(part, str):
        return _DARK_OF.get(part, part)
    if isinstance(part, list):
        return [_darkened(each) for each in part]
    if isinstance(part, dict):
        return {name: _darkened(each) for name, each in part.items()}
    return part


def plain_label(text: str, longest: int = 60) -> str:
    """Text that Plotly shows as it is: it takes tags and entities for markup."""
    return html.escape(clean(text, longest), quote=False)


def best_over_trials(curves: Sequence[Curve], names: Sequence[str], flops: float | None) -> Figure:
    """The best speed so far of each run over its trials, with the trials if it is one run."""
    unit = _unit(curves, flops)
    plot = Plot(360, "trial", unit.name)
    last = max(curve.trials for curve in curves)
    for curve, name, colour in zip(curves, names, _colours(curves), strict=True):
        if len(curves) == 1:
            _add_dots(plot, curve, unit)
        _add_best(plot, curve, (name, colour), unit, lambda point: point.number)
    plot.figure.update_xaxes(range=[0, last + 1], dtick=1 if last < 10 else None)
    plot.figure.update_yaxes(rangemode="tozero")
    together = max(curve.together for curve in curves)
    summary = _found(curves[0], flops) if len(curves) == 1 else _fastest(curves, names, flops)
    if together > 1:
        summary += f" A point is the best of up to {fmt.count(together)} trials."
    return Figure("trials", "Best speed over trials", summary, plot)


def best_over_time(curves: Sequence[Curve], names: Sequence[str], flops: float | None) -> Figure:
    """The best speed so far of each run over the seconds since it began."""
    unit = _unit(curves, flops)
    last = max(curve.elapsed for curve in curves)
    size, axis = time_axis(last)
    plot = Plot(360, f"{axis} since the run began", unit.name)
    for curve, name, colour in zip(curves, names, _colours(curves), strict=True):
        _add_best(plot, curve, (name, colour), unit, lambda point: point.elapsed / size)
    plot.figure.update_xaxes(range=[0, last / size * 1.01 or 1])
    plot.figure.update_yaxes(rangemode="tozero")
    longest = max(curves, key=lambda curve: curve.elapsed)
    summary = f"The last trial ended after {fmt.duration(longest.elapsed)}."
    return Figure("seconds", "Best speed over time", summary, plot)


def _found(curve: Curve, flops: float | None) -> str:
    if not curve.improvements:
        return "No trial gave a valid program."
    last = curve.improvements[-1]
    near = "trial" if curve.together == 1 else "about trial"
    return f"The fastest is {near} {fmt.count(last.number)}, at {fmt.speed(last.seconds, flops)}."


def _fastest(curves: Sequence[Curve], names: Sequence[str], flops: float | None) -> str:
    """Which of several runs found the fastest."""
    found = [
        (curve.improvements[-1].seconds or 0.0, name)
        for curve, name in zip(curves, names, strict=True)
        if curve.improvements
    ]
    if not found:
        return "No trial gave a valid program."
    seconds, name = min(found)
    return f"The fastest trial is of {clean(name, 60)}, at {fmt.speed(seconds, flops)}."


def _unit(curves: Sequence[Curve], flops: float | None) -> fmt.SpeedUnit:
    bests = [curve.improvements[-1].seconds for curve in curves if curve.improvements]
    return fmt.SpeedUnit.suiting(flops, bests)


def _colours(curves: Sequence[Curve]) -> list[str]:
    return [RUN_COLOURS[place % len(RUN_COLOURS)] for place in range(len(curves))]


def _add_best(
    plot: Plot,
    curve: Curve,
    style: tuple[str, str],
    unit: fmt.SpeedUnit,
    along: Callable[[Point], float],
) -> None:
    """The best speed so far: a step at each improvement, then level to the last point.

    ``style`` is the name of the run and its colour, ``along`` where a point is on the x axis.
    """
    name, colour = style
    plot.explain(clean(name), colour, "line")
    corners: list[Point] = curve.improvements
    if not corners:
        return
    last = corners[-1]
    plot.figure.add_scatter(
        mode="lines+markers" if len(corners) == 1 else "lines",
        x=[*map(along, corners), along(curve.points[-1])],
        y=[unit.value(point.seconds) for point in (*corners, last)],
        line={"shape": "hv", "width": 2.5, "color": LIGHT[colour]},
        marker={"size": 5, "color": LIGHT[colour]},
        customdata=[
            [fmt.count(point.number), fmt.seconds(point.seconds), fmt.duration(point.elapsed)]
            for point in (*corners, last)
        ],
        hovertemplate=f"{plain_label(name)}<br>trial %{{customdata[0]}}, after %{{customdata[2]}}"
        f"<br>%{{y:.4~g}} {unit.name}, %{{customdata[1]}} a call<extra></extra>",
    )


def _add_dots(plot: Plot, curve: Curve, unit: fmt.SpeedUnit) -> None:
    """A dot for each point that is valid."""
    valid = [point for point in curve.points if point.seconds is not None]
    plot.explain("trial" if curve.together == 1 else "best of a few trials", "trial", "dot")
    plot.figure.add_scatter(
        mode="markers",
        x=[point.number for point in valid],
        y=[unit.value(point.seconds) for point in valid],
        marker={"size": 5, "color": LIGHT["trial"]},
        customdata=[[fmt.seconds(point.seconds), fmt.duration(point.elapsed)] for point in valid],
        hovertemplate=f"trial %{{x}}<br>%{{y:.4~g}} {unit.name}, %{{customdata[0]}} a call"
        "<br>after %{customdata[1]}<extra></extra>",
    )


def importance_figure(parameters: Sequence[Parameter], trials: int) -> Figure:
    """A bar for each of the most important parameters whose importance is known."""
    shown = [it for it in parameters if it.share is not None][:_MOST_BARS]
    plot = Plot(70 + 26 * max(len(shown), 2), "share of the variance of log(time), %", "")
    plot.figure.add_bar(
        x=[100 * (it.share or 0.0) for it in shown],
        y=[plain_label(it.name, 28) for it in shown],
        orientation="h",
        marker={"color": LIGHT["trial"]},
        text=[fmt.share(it.share or 0.0, 1.0) for it in shown],
        textposition="outside",
        customdata=[[fmt.counted(len(it.values), "value")] for it in shown],
        hovertemplate="%{y}: %{text}, %{customdata[0]}<extra></extra>",
    )
    most = max((it.share or 0.0 for it in shown), default=0.0)
    plot.figure.update_xaxes(range=[0, 100 * min(1.15 * most + 0.02, 1.2)], fixedrange=True)
    plot.figure.update_yaxes(
        range=[max(len(shown), 2) - 0.5, -0.5], showgrid=False, ticks="", fixedrange=True
    )
    plot.figure.update_layout(bargap=0.3)
    summary = f"By {fmt.counted(trials, 'trial')}, evenly spread over all of this sketch."
    return Figure("importance", "Importance of parameters", summary, plot, explorable=False)


def configs_figure(
    parameters: Sequence[Parameter], trials: Sequence[Trial], flops: float | None
) -> Figure:
    """Parallel coordinates: a line for each valid trial through its values, coloured by speed.

    ``parameters`` are those of ``trials``, in the order of the axes, the speed is the last axis.
    The slowest are drawn first. These are plain lines, not Plotly's own parallel coordinates: those
    need WebGL, which not every browser has.
    """
    axes = [it for it in parameters if len(it.values) > 1][:MOST_AXES]
    valid = [place for place, trial in enumerate(trials) if trial.seconds is not None]
    valid.sort(key=lambda place: -(trials[place].seconds or 0.0))
    unit = fmt.SpeedUnit.suiting(flops, [trials[place].seconds for place in valid])
    top = max((unit.value(trials[place].seconds) or 0.0 for place in valid), default=1.0)
    plot = Plot(440, "", "")
    band = -(-len(valid) // len(_BANDS))
    for number, (name, colour, width) in enumerate(_BANDS):
        own = valid[number * band : (number + 1) * band]
        if not own:
            continue
        plot.explain(name, colour, "line")
        ends = [(unit.value(trials[place].seconds) or 0.0) / top for place in own]
        heights = [
            [*(_height(axis, place) for axis in axes), end, None]
            for place, end in zip(own, ends, strict=True)
        ]
        plot.figure.add_scatter(
            mode="lines",
            x=[*range(len(axes) + 1), None] * len(own),
            y=[height for line in heights for height in line],
            line={"width": width, "color": LIGHT[colour]},
            hoverinfo="skip",
        )
    for number, axis in enumerate(axes):
        _add_axis(plot, number, axis.name, _ticks(axis))
    speeds = [(part / 4, fmt.number(top * part / 4)) for part in range(5)]
    _add_axis(plot, len(axes), unit.name, speeds)
    plot.figure.update_xaxes(visible=False, range=[-0.3, len(axes) + 0.55], fixedrange=True)
    plot.figure.update_yaxes(visible=False, range=[-0.06, 1.12], fixedrange=True)
    summary = (
        f"A line is one of {fmt.counted(len(valid), 'valid trial')}: the fastest ones, and others "
        "evenly spread. The most important parameters come first."
    )
    return Figure("configs", "Configs", summary, plot, explorable=False, wide=True)


# Equal parts of the trials, the slowest first: their colour of the palette, and their width.
_BANDS: Final = (
    ("slowest quarter", "line", 1.0),
    ("slower", "idle", 1.0),
    ("faster", "trial", 1.0),
    ("fastest quarter", "default", 1.5),
)


def _height(axis: Parameter, place: int) -> float:
    return axis.place[place] / (len(axis.values) - 1)


def _ticks(axis: Parameter) -> list[tuple[float, str]]:
    """Heights and texts, of some values if there are many."""
    most = len(axis.values) - 1
    parts = min(most, _MOST_TICKS - 1)
    places = [round(part * most / parts) for part in range(parts + 1)]
    return [(it / most, fmt.config_value(axis.values[it])) for it in places]


def _add_axis(plot: Plot, at: int, name: str, ticks: Sequence[tuple[float, str]]) -> None:
    ink, line = LIGHT["ink"], LIGHT["muted"]
    plot.figure.add_shape(
        type="line", x0=at, x1=at, y0=0, y1=1, line={"color": line, "width": 1}, layer="above"
    )
    shown = {"x": at, "showarrow": False, "font": {"size": 11, "color": ink}}
    plot.figure.add_annotation(**shown, y=1.08, text=f"<b>{plain_label(name, 16)}</b>")
    for height, text in ticks:
        plot.figure.add_annotation(
            **shown,
            y=height,
            xanchor="left",
            xshift=3,
            text=plain_label(text, _LONGEST_TICK),
            bgcolor=LIGHT["page"],
            opacity=0.85,
        )
