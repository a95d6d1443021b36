"""The figures of the page about evolved programs; colours as in ``reports.figures``."""

from __future__ import annotations

from tunesmith.reports import format as fmt
from tunesmith.reports.drawing import Plot, share_bar
from tunesmith.reports.evolve.model import EvolveReport
from tunesmith.reports.evolve.tables import error_text
from tunesmith.reports.figures import Figure, time_axis
from tunesmith.reports.palette import LIGHT, OTHERS, SERIES


def make_figures(report: EvolveReport) -> list[Figure]:
    """The figures for which there are data, in the order of the page (imports Plotly)."""
    figures = []
    if report.programs:
        figures.append(_front(report))
    if report.steps:
        figures += [_history(report)]
    if report.outcomes:
        figures.append(_outcomes(report))
    return figures


def _front(report: EvolveReport) -> Figure:
    plot = Plot(340, "error", "times as fast as the original")
    for name, colour, mark, values in (
        ("tests", "best", "dot", [(each.error, each.speedup) for each in report.programs]),
        (
            "tests held out",
            "default",
            "ring",
            [(each.heldout_error, each.heldout_speedup) for each in report.programs],
        ),
    ):
        plot.explain(name, colour, "dot" if mark == "dot" else "ring")
        plot.figure.add_scatter(
            mode="markers+lines" if mark == "dot" else "markers",
            x=[error for error, _ in values],
            y=[speedup for _, speedup in values],
            marker={
                "size": 9,
                "symbol": "circle" if mark == "dot" else "circle-open",
                "color": LIGHT[colour],
            },
            line={"shape": "vh", "width": 1.5, "color": LIGHT[colour]},
            customdata=[[number, error_text(error)] for number, (error, _) in enumerate(values, 1)],
            hovertemplate=f"program %{{customdata[0]}}, {name}<br>%{{y:.3~g}} times as fast<br>"
            "error %{customdata[1]}<extra></extra>",
        )
    plot.explain("the original", OTHERS, "cross")
    plot.figure.add_scatter(
        mode="markers",
        x=[0],
        y=[1],
        marker={
            "size": 9,
            "symbol": "x-thin",
            "line": {"width": 2, "color": LIGHT[OTHERS]},
        },
        hovertemplate="the original<extra></extra>",
    )
    plot.figure.update_xaxes(rangemode="tozero", tickformat="~g")
    fastest = report.programs[0]
    summary = (
        f"The fastest is {fmt.number(fastest.speedup)} times as fast, with an error of "
        f"{error_text(fastest.error)}."
    )
    return Figure("front", "The front", summary, plot)


def _history(report: EvolveReport) -> Figure:
    axis, name = time_axis(report.steps[-1].seconds)
    plot = Plot(340, name, "times as fast as the original")
    plot.explain("fastest so far", "best", "line")
    plot.figure.add_scatter(
        mode="lines+markers",
        x=[step.seconds / axis for step in report.steps],
        y=[step.fastest for step in report.steps],
        line={"shape": "hv", "width": 2.5, "color": LIGHT["best"]},
        marker={"size": 5, "color": LIGHT["best"]},
        customdata=[
            [step.number, fmt.count(step.evaluations), fmt.percent(step.valid, 0)]
            for step in report.steps
        ],
        hovertemplate="generation %{customdata[0]}: %{y:.3~g} times as fast<br>%{customdata[1]} "
        "evaluations, %{customdata[2]} valid<extra></extra>",
    )
    last = report.steps[-1]
    rate = last.evaluations / last.seconds if last.seconds else 0.0
    summary = (
        f"{fmt.counted(last.number, 'generation')}, "
        f"{fmt.counted(last.evaluations, 'evaluation')}, {fmt.number(rate)} a second. As measured "
        "during the search; the front was measured again."
    )
    return Figure("history", "The fastest over time", summary, plot)


def _outcomes(report: EvolveReport) -> Figure:
    total = sum(report.outcomes.values())
    ordered = sorted(report.outcomes.items(), key=lambda each: -each[1])
    colours = [*SERIES, *[OTHERS] * len(ordered)]
    plot = share_bar(
        [
            (name, fmt.count(count), count / total, colour)
            for (name, count), colour in zip(ordered, colours, strict=False)
        ]
    )
    summary = f"Of {fmt.counted(total, 'program')} that were run."
    title = "How programs ended"
    return Figure("outcomes", title, summary, plot, explorable=False, wide=True)
