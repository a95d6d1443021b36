"""The figures of the page about a network; colours as in ``reports.figures``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tunesmith.reports import format as fmt
from tunesmith.reports.drawing import Plot, share_bar
from tunesmith.reports.figures import Figure, time_axis
from tunesmith.reports.networks.model import MODEL, STORE, NetworkReport, TaskRow
from tunesmith.reports.networks.tables import of_peak
from tunesmith.reports.palette import LIGHT, OTHERS, SERIES

REST, RUNTIME = "no operator", "runtime"
"""Beside the names of operators: functions that no operator covers, and the runtime."""

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
# Tasks in the figure about tuning.
_DEAREST = 12


@dataclass(frozen=True)
class Slice:
    """A part of a call: its ``kind`` is an operator's name, ``REST`` or ``RUNTIME``; ``notes`` are
    lines about it."""

    kind: str
    seconds: float
    notes: Sequence[str]


def slices_of(report: NetworkReport) -> list[Slice]:
    """The parts of a call in order: as measured inside of the network, else its layers as tuned."""
    if report.call is None:
        return [
            Slice(task.operator, task.seconds or 0.0, _notes(task))
            for task in (report.tasks[number] for number in report.layers)
        ]
    parts = [
        Slice(part.operator or REST, part.seconds, [part.brief or part.name, part.sketch])
        for part in report.call.parts
    ]
    return [*parts, Slice(RUNTIME, report.call.runtime, ["runtime"])]


def make_figures(report: NetworkReport) -> list[Figure]:
    """The figures for which there are data, in the order of the page (imports Plotly)."""
    slices = slices_of(report)
    colours = _colours(slices)
    figures = [_by_layer(report, slices, colours), _by_operator(report, slices, colours)]
    if any(_gained(task) for task in report.tasks):
        figures.append(_before_and_after(report))
    if len({seconds for _, seconds in report.curve}) > 1:
        figures.append(_over_tuning(report))
    return figures


def _notes(task: TaskRow) -> list[str]:
    speed = "" if task.gflops is None else f"{task.gflops:.1f} GFLOP/s"
    peak = of_peak(task.share_of_peak, task.limit)
    origin = "estimated" if task.origin == MODEL else ""
    facts = [speed, f"{peak} of peak" if task.share_of_peak is not None else "", task.sketch]
    return [task.brief, ", ".join(filter(None, [*facts, origin]))]


def _colours(slices: Sequence[Slice]) -> dict[str, str]:
    """A colour of the palette for each kind, those with most time first; the runtime's is grey."""
    spent = _by_kind(slices)
    names = [name for name in sorted(spent, key=lambda name: -spent[name]) if name != RUNTIME]
    return {**dict.fromkeys(names, OTHERS), RUNTIME: OTHERS} | dict(
        zip(names, SERIES, strict=False)
    )


def _by_kind(slices: Sequence[Slice]) -> dict[str, float]:
    spent: dict[str, float] = {}
    for part in slices:
        spent[part.kind] = spent.get(part.kind, 0.0) + part.seconds
    return spent


def _by_layer(report: NetworkReport, slices: Sequence[Slice], colours: dict[str, str]) -> Figure:
    numbered = [(number, part) for number, part in enumerate(slices, 1) if part.kind != RUNTIME]
    size, unit = _unit(max((part.seconds for _, part in numbered), default=0.0))
    plot = Plot(320, "layer" if report.call is None else "function of a call, in order", unit)
    total = sum(part.seconds for part in slices)
    for kind, colour in colours.items():
        own = [(number, part) for number, part in numbered if part.kind == kind]
        if not own:
            continue
        plot.explain(kind, colour, "block")
        plot.figure.add_bar(
            x=[number for number, _ in own],
            y=[part.seconds / size for _, part in own],
            marker={"color": LIGHT[colour]},
            customdata=[
                [
                    "<br>".join(filter(None, part.notes)),
                    fmt.seconds(part.seconds),
                    fmt.share(part.seconds, total),
                ]
                for _, part in own
            ],
            hovertemplate="%{x}: %{customdata[0]}<br>%{customdata[1]}, %{customdata[2]} of a call"
            "<extra></extra>",
        )
    plot.figure.update_layout(barmode="stack", bargap=0.15)
    plot.figure.update_xaxes(
        range=[0.4, len(numbered) + 0.6], dtick=1 if len(numbered) <= 12 else None, tickangle=0
    )
    plot.figure.update_yaxes(rangemode="tozero")
    dearest = sorted((part.seconds for _, part in numbered), reverse=True)[: _few(len(numbered))]
    summary = (
        f"Of {fmt.seconds(total)}, {fmt.share(sum(dearest), total)} go to the dearest "
        f"{len(dearest)} of {len(numbered)}."
    )
    title = "Where the time goes: by layer"
    return Figure("layers", title, summary, plot, wide=True)


def _by_operator(report: NetworkReport, slices: Sequence[Slice], colours: dict[str, str]) -> Figure:
    spent = _by_kind(slices)
    total = sum(spent.values())
    plot = share_bar(
        [
            (kind, fmt.seconds(seconds), seconds / total if total else 0.0, colours[kind])
            for kind, seconds in sorted(spent.items(), key=lambda each: -each[1])
        ]
    )
    how = "As tuned: each layer alone, without the runtime between them."
    if report.call is not None:
        how = "As measured inside of the built network."
    title = "Where the time goes: by operator"
    return Figure("operators", title, how, plot, explorable=False, wide=True)


def _before_and_after(report: NetworkReport) -> Figure:
    gained = [(number, task) for number, task in enumerate(report.tasks) if _gained(task)]
    gained.sort(key=lambda pair: -pair[1].layers * (pair[1].default_seconds or 0.0))
    shown = gained[:_DEAREST]
    size, unit = _unit(max(task.spent for _, task in shown))
    plot = Plot(90 + 26 * len(shown), unit, "")
    names = [_named(report, number, task) for number, task in shown]
    before = [task.layers * (task.default_seconds or 0.0) for _, task in shown]
    after = [task.spent for _, task in shown]
    for name, first, last in zip(names, before, after, strict=True):
        plot.figure.add_scatter(
            mode="lines",
            x=[first / size, last / size],
            y=[name, name],
            line={"color": LIGHT["line"], "width": 3},
            hoverinfo="skip",
        )
    for text, colour, times in (("default schedule", "default", before), ("best", "best", after)):
        plot.explain(text, colour, "dot")
        plot.figure.add_scatter(
            mode="markers",
            x=[time / size for time in times],
            y=names,
            marker={"size": 9, "color": LIGHT[colour]},
            customdata=[
                [task.brief, fmt.seconds(time), fmt.gain(first, last)]
                for (_, task), time, first, last in zip(shown, times, before, after, strict=True)
            ],
            hovertemplate=f"%{{customdata[0]}}<br>{text}: %{{customdata[1]}}<br>"
            "gain: %{customdata[2]}<extra></extra>",
        )
    ticks = _log_ticks([time / size for time in (*before, *after)])
    plot.figure.update_xaxes(
        type="log", showgrid=True, tickvals=ticks, ticktext=[f"{tick:,g}" for tick in ticks]
    )
    plot.figure.update_yaxes(
        range=[len(shown) - 0.5, -0.5], showgrid=False, ticks="", type="category", fixedrange=True
    )
    which = "Each task" if len(shown) == len(gained) else f"The {len(shown)} dearest tasks"
    assert report.gain is not None  # some task has both times
    summary = f"{which} with all layers of it. In all the gain is {fmt.gain(*report.gain)}."
    return Figure("gains", "Before and after tuning", summary, plot)


def _over_tuning(report: NetworkReport) -> Figure:
    size, unit = _unit(report.curve[-1][1])
    axis, name = time_axis(report.tuning_seconds)
    plot = Plot(90 + 26 * 9, f"{name} of tuning", unit)
    plot.explain("all layers of a call", "best", "line")
    plot.figure.add_scatter(
        mode="lines",
        x=[at / axis for at, _ in report.curve],
        y=[seconds / size for _, seconds in report.curve],
        line={"shape": "hv", "width": 2.5, "color": LIGHT["best"]},
        customdata=[[fmt.duration(at), fmt.seconds(seconds)] for at, seconds in report.curve],
        hovertemplate="after %{customdata[0]}: %{customdata[1]}<extra></extra>",
    )
    plot.figure.update_xaxes(range=[0, report.tuning_seconds / axis * 1.01 or 1])
    plot.figure.update_yaxes(rangemode="tozero")
    first, last = report.curve[0][1], report.curve[-1][1]
    summary = (
        f"From {fmt.seconds(first)} to {fmt.seconds(last)} in {fmt.duration(report.tuning_seconds)}"
        "; a task counts with its default schedule until it is tuned."
    )
    return Figure("tuning", "A call over tuning", summary, plot)


def _gained(task: TaskRow) -> bool:
    return task.origin == STORE and task.default_seconds is not None


def _log_ticks(values: Sequence[float]) -> list[float]:
    """Ticks for a logarithmic axis around positive values: powers of ten, or 1, 2 and 5 times
    those where the axis has no more than two of them."""
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    steps = (1, 2, 5) if last - first <= 2 else (1,)
    return [step * 10.0**power for power in range(first, last + 1) for step in steps]


def _few(count: int) -> int:
    """A quarter of so many, but at least one."""
    return -(-count // 4)


def _named(report: NetworkReport, number: int, task: TaskRow) -> str:
    """A short name of a task for an axis: its first layer and its operator."""
    first = report.layers.index(number) + 1
    more = f" (×{task.layers})" if task.layers > 1 else ""
    return f"{first}: {task.operator}{more}"


def _unit(seconds: float) -> tuple[float, str]:
    """The unit of an axis on which this value is at least 1, or the least unit."""
    return next((unit for unit in _UNITS if seconds >= unit[0]), _UNITS[-1])
