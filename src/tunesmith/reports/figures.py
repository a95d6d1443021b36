"""The five Plotly figures of a report, in the colours of a light page.

In dark mode the page replaces the colours, so every colour must be from the palette.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tunesmith.measurement import Outcome
from tunesmith.progress import PHASES
from tunesmith.reports import format as fmt
from tunesmith.reports.drawing import Plot, SpeedPlot, share_bar
from tunesmith.reports.model import RunReport
from tunesmith.reports.palette import LIGHT

_TIME_AXES = ((2 * 86400, 3600.0, "hours"), (2 * 3600, 60.0, "minutes"), (0, 1.0, "seconds"))


@dataclass(frozen=True)
class Figure:
    """A plot with its title and a ``summary`` in one line.

    ``explorable`` says whether zooming is useful, ``wide`` whether it takes the page's whole width.
    """

    name: str
    title: str
    summary: str
    plot: Plot
    explorable: bool = True
    wide: bool = False


def time_axis(last: float) -> tuple[float, str]:
    """The seconds of a unit, and its name, for an axis of wall-clock time until ``last``."""
    return next((size, name) for least, size, name in _TIME_AXES if last >= least)


def make_figures(report: RunReport) -> list[Figure]:
    """The figures for which the run has data, in the order of the page (imports Plotly)."""
    figures = []
    if report.trials:
        figures.append(_speed_over_trials(report))
    if report.valid:
        figures += [_speed_over_time(report), _distribution(report)]
    if sum(report.time.values()) > 0:
        figures.append(_time_by_phase(report))
    if report.trials:
        figures.append(outcomes_figure(report.outcomes))
    return figures


def _speed_over_trials(report: RunReport) -> Figure:
    plot = SpeedPlot(report, 380, "trial", "")
    plot.figure.update_yaxes(title_text=plot.unit.name)
    full = [trial for trial in report.valid if not trial.cut_off]
    short = [trial for trial in report.valid if trial.cut_off]
    plot.add_trials("trial", full, [trial.index for trial in full], "trial")
    plot.add_trials("cut off early", short, [trial.index for trial in short], "trial", "ring")
    plot.add_best_line([trial.index for trial in report.improvements], len(report.trials))
    # Invalid trials have no speed: they are shown below the axis.
    plot.add_invalid(-0.035 * plot.top)
    plot.add_references("y")
    plot.figure.update_yaxes(range=[-0.07 * plot.top, 1.05 * plot.top])
    plot.figure.update_xaxes(range=[0, len(report.trials) + 1], dtick=_whole(len(report.trials)))
    summary = "No trial gave a valid program."
    if report.improvements:
        last = report.improvements[-1]
        found = fmt.speed(last.seconds, report.flops)
        summary = f"The fastest is trial {fmt.count(last.index)}, at {found}."
    return Figure("trials", "Best speed over trials", summary, plot, wide=True)


def _speed_over_time(report: RunReport) -> Figure:
    last = report.elapsed
    size, name = time_axis(last)
    plot = SpeedPlot(report, 320, f"{name} since the run began", "")
    plot.figure.update_yaxes(title_text=plot.unit.name)
    corners = report.improvements
    at = [trial.elapsed / size for trial in corners]
    plot.add_best_line(at, last / size)
    plot.add_trials("improvement", corners, at, "best")
    plot.add_references("y")
    plot.figure.update_yaxes(range=[0, 1.05 * plot.top])
    plot.figure.update_xaxes(range=[0, last / size * 1.01 or 1])
    found = fmt.duration(corners[-1].elapsed)
    summary = f"The run took {fmt.duration(last)}. Its fastest trial ended after {found}."
    return Figure("seconds", "Best speed over time", summary, plot)


def _distribution(report: RunReport) -> Figure:
    plot = SpeedPlot(report, 320, "", "trials")
    plot.figure.update_xaxes(title_text=plot.unit.name)
    plot.explain("valid trials", "trial", "block")
    plot.figure.add_histogram(
        x=[plot.unit.value(trial.seconds) for trial in report.valid],
        nbinsx=40,
        marker={"color": LIGHT["trial"], "line": {"color": LIGHT["page"], "width": 1}},
        hovertemplate=f"%{{x}} {plot.unit.name}: %{{y}} trials<extra></extra>",
    )
    plot.add_references("x")
    plot.figure.update_xaxes(range=[0, 1.05 * plot.top])
    plot.figure.update_yaxes(dtick=_whole(len(report.valid)))
    times = [trial.seconds for trial in report.valid if trial.seconds is not None]
    reached = fmt.share(min(times), statistics.median(times))
    summary = f"The median trial reaches {reached} of the best speed."
    return Figure("distribution", "Distribution of speeds", summary, plot)


def _time_by_phase(report: RunReport) -> Figure:
    figure, total = phases_figure(report.time), sum(report.time.values())
    if not report.gpu:
        return figure
    idle = fmt.share(report.gpu_idle, total)
    return replace(figure, summary=f"{figure.summary} The GPU was idle for {idle} of it.")


def phases_figure(time: Mapping[str, float]) -> Figure:
    """The seconds of each phase, of which some are above 0, as shares of their sum."""
    total = sum(time.values())
    spent = {phase: time.get(phase, 0.0) for phase in PHASES}
    plot = share_bar(
        [(phase, fmt.duration(seconds), seconds / total, phase) for phase, seconds in spent.items()]
    )
    most = max(PHASES, key=lambda phase: spent[phase])
    part = fmt.share(spent[most], total)
    summary = f"Of {fmt.duration(total)}, {part} went to {_PHASE_WORDS[most]}."
    return Figure("phases", "Time by phase", summary, plot, explorable=False)


_PHASE_WORDS = {
    "search": "the tuner's own thinking",
    "build": "building programs",
    "run": "running programs",
    "record": "keeping records and showing progress",
    "idle": "waiting",
}


def outcomes_figure(counts: Mapping[Outcome, int]) -> Figure:
    """The number of trials with each outcome, of which some occurred."""
    total = sum(counts.values())
    rows, most = max(len(counts), 2), max(counts.values())
    plot = Plot(66 + 34 * rows, "trials", "")
    plot.figure.add_bar(
        x=list(counts.values()),
        y=[fmt.outcome_name(outcome) for outcome in counts],
        orientation="h",
        marker={"color": [LIGHT["invalid" if o.value else "best"] for o in counts]},
        text=[fmt.count(number) for number in counts.values()],
        textposition="outside",
        customdata=[
            [outcome.meaning, fmt.share(number, total)] for outcome, number in counts.items()
        ],
        hovertemplate="%{y}: %{x} trials, %{customdata[1]}<br>%{customdata[0]}<extra></extra>",
    )
    plot.figure.update_xaxes(range=[0, 1.2 * most], dtick=_whole(most), fixedrange=True)
    plot.figure.update_yaxes(range=[rows - 0.5, -0.5], showgrid=False, ticks="", fixedrange=True)
    plot.figure.update_layout(bargap=0.25)
    invalid = total - counts.get(Outcome.NO_ERROR, 0)
    summary = f"{fmt.count(invalid)} of {fmt.counted(total, 'trial')} gave no valid program."
    return Figure("outcomes", "Outcomes by class", summary, plot, explorable=False)


def _whole(most: int) -> int | None:
    """The tick step of an axis of integers: 1 if Plotly would choose a fraction, else None."""
    return 1 if most < 10 else None
