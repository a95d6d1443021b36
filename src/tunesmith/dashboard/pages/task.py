"""The page of a task on a machine: its runs side by side, its configs, its program."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from dash import Dash, Input, Output, State, dcc, html, no_update

from tunesmith.dashboard import parts
from tunesmith.dashboard.charts import (
    best_over_time,
    best_over_trials,
    configs_figure,
    importance_figure,
)
from tunesmith.dashboard.curves import Curves
from tunesmith.dashboard.described import flops_of, title_of
from tunesmith.dashboard.importance import EXPLANATION, parameters_of
from tunesmith.dashboard.pages import program, task_tables
from tunesmith.dashboard.runs import WatchedRun, WatchedTask
from tunesmith.dashboard.text import clean
from tunesmith.dashboard.watch import Watch
from tunesmith.progress import PHASES
from tunesmith.reports.figures import Figure, outcomes_figure, phases_figure
from tunesmith.store.aggregates import Trial

MOST_RUNS: Final = 6
"""A figure has at most so many runs: one for each colour."""

_FIRST_RUNS = 3
_MOST_OPTIONS = 200
_SPREAD_TRIALS = 2000
_FASTEST_LINES, _SPREAD_LINES = 80, 240

_TRIALS = parts.Slot("trials", "Best speed over trials")
_SECONDS = parts.Slot("seconds", "Best speed over time")
_OUTCOMES = parts.Slot("outcomes", "Outcomes by class", explorable=False)
_PHASES = parts.Slot("phases", "Time by phase", explorable=False)
_CONFIGS = parts.Slot("configs", "Configs", wide=True, explorable=False)
_IMPORTANCE = parts.Slot(
    "importance", "Importance of parameters", wide=True, explorable=False, hint=EXPLANATION
)


def layout(watch: Watch, asked: Mapping[str, str]) -> list[Any]:
    task = _task(watch, asked)
    if task is None:
        return [html.H1("No such task"), html.P(dcc.Link("All runs", href="/"))]
    wanted = [uid for uid in asked.get("runs", "").split(",") if uid]
    tried = [run for run in task.runs if run.trials] or task.runs
    chosen = wanted or [run.session.uid for run in tried[-_FIRST_RUNS:]]
    return [
        html.P("Task", className="kicker"),
        html.H1(parts.said(title_of(task.session))),
        html.P(html.Code(parts.said(task.key, 400)), className="task"),
        html.Ul(id="task-cards", className="cards", **{"aria-label": "Key figures"}),
        html.Div(id="task-facts"),
        parts.section(
            "compared",
            "Runs to compare",
            dcc.Dropdown(id="chosen-runs", options=_options(watch, task), value=chosen, multi=True),
        ),
        html.Div(
            [it.layout() for it in (_TRIALS, _SECONDS, _OUTCOMES, _PHASES)], className="figures"
        ),
        parts.section("run-list", "Runs, newest first", html.Div(id="task-runs")),
        parts.section("sketches", "Sketches", html.Div(id="task-sketches")),
        parts.section(
            "space",
            "Configs of a sketch",
            dcc.Dropdown(
                id="series", options=_series(task), value=_first_series(task), clearable=False
            ),
        ),
        html.Div([_CONFIGS.layout(), _IMPORTANCE.layout()], className="figures"),
        dcc.Store(id="configs-state"),
        parts.section("config", "The best config", html.Div(id="task-config")),
        program.section(),
        parts.section("failures", "Latest failures", html.Div(id="task-failures")),
    ]


def register(app: Dash, watch: Watch) -> None:
    curves = Curves(watch.store)

    def update(_pulse: str, search: str | None, series: str | None) -> list[Any]:
        task = _task(watch, parts.asked(search))
        if task is None:
            return [no_update] * (len(task_tables.NAMES) + 3)
        tables = task_tables.content(watch, task, datetime.now(UTC))
        first = _first_series(task) if series is None else no_update
        return [*tables, _options(watch, task), _series(task), first]

    app.callback(
        *(Output(name, "children") for name in task_tables.NAMES),
        Output("chosen-runs", "options"),
        Output("series", "options"),
        Output("series", "value"),
        Input("pulse", "data"),
        State("url", "search"),
        State("series", "value"),
    )(update)

    def draw(_pulse: str, scheme: str | None, uids: Sequence[str] | None) -> list[Any]:
        dark = scheme == "dark"
        figures = run_figures(curves, watch.snapshot().of(uids or []))
        slots = (_TRIALS, _SECONDS, _OUTCOMES, _PHASES)
        nothing = ("no trial yet", "no trial yet", "no trial yet", "known when a run has ended")
        filled = zip(slots, figures, nothing, strict=True)
        return [it for slot, figure, text in filled for it in slot.filled(figure, dark, text)]

    app.callback(
        *(it for slot in (_TRIALS, _SECONDS, _OUTCOMES, _PHASES) for it in slot.outputs()),
        Input("pulse", "data"),
        Input("scheme", "data"),
        Input("chosen-runs", "value"),
    )(draw)

    def draw_configs(
        _pulse: str, scheme: str | None, series: str | None, search: str | None, before: str | None
    ) -> list[Any]:
        task = _task(watch, parts.asked(search))
        count = 0 if task is None else _trials_in(task, series)
        # They need many trials to be read, so they are drawn anew only for a tenth more.
        state = f"{scheme} {series} {round(math.log(count + 1) * 10)}"
        if state == before:
            return [no_update] * len([*_CONFIGS.outputs(), *_IMPORTANCE.outputs(), state])
        figures = config_figures(watch, series, count, task)
        filled = zip((_CONFIGS, _IMPORTANCE), figures, strict=True)
        nothing = "too few valid trials yet"
        values = [it for slot, fig in filled for it in slot.filled(fig, scheme == "dark", nothing)]
        return [*values, state]

    app.callback(
        *(it for slot in (_CONFIGS, _IMPORTANCE) for it in slot.outputs()),
        Output("configs-state", "data"),
        Input("pulse", "data"),
        Input("scheme", "data"),
        Input("series", "value"),
        State("url", "search"),
        State("configs-state", "data"),
    )(draw_configs)

    program.register(app, watch, _task)


def run_figures(curves: Curves, runs: Sequence[WatchedRun]) -> list[Figure | None]:
    """Those of the runs together: over trials, over time, outcomes, phases; None without data.

    The first two have the first `MOST_RUNS` of them.
    """
    tried = [run for run in runs if run.trials]
    drawn = [curves.of(run) for run in tried[:MOST_RUNS]]
    if not drawn:
        return [None] * 4
    flops = flops_of(runs[0].session)
    names = [_name(curve.run) for curve in drawn]
    counts = {
        outcome: sum(run.outcomes.get(outcome, 0) for run in runs)
        for outcome in sorted({it for run in runs for it in run.outcomes}, key=lambda it: it.value)
    }
    spent = {phase: sum(run.session.time_split.get(phase, 0.0) for run in runs) for phase in PHASES}
    trials = best_over_trials(drawn, names, flops)
    if len(tried) > MOST_RUNS:
        shown = f"The first {MOST_RUNS} of {len(tried)} chosen runs. {trials.summary}"
        trials = replace(trials, summary=shown)
    return [
        trials,
        best_over_time(drawn, names, flops),
        outcomes_figure(counts),
        phases_figure(spent) if sum(spent.values()) > 0 else None,
    ]


def config_figures(
    watch: Watch, series: str | None, count: int, task: WatchedTask | None
) -> list[Figure | None]:
    """Parallel coordinates and importance of parameters, of a series with so many trials."""
    if series is None or task is None:
        return [None, None]
    number = int(series)
    spread = watch.store.spread(number, max(1, -(-count // _SPREAD_TRIALS)))
    importance = parameters_of(spread)
    lines = _lines(watch, number, spread)
    if not any(trial.seconds is not None for trial in lines):
        return [None, None]
    order = {it.name: place for place, it in enumerate(importance)}
    axes = sorted(parameters_of(lines), key=lambda it: order.get(it.name, len(order)))
    known = any(it.share is not None for it in importance)
    return [
        configs_figure(axes, lines, flops_of(task.session)),
        importance_figure(importance, len(spread)) if known else None,
    ]


def _lines(watch: Watch, series: int, spread: Sequence[Trial]) -> list[Trial]:
    """The fastest trials, and others evenly spread, the fastest last: they are drawn on top."""
    fastest = watch.store.fastest(series, _FASTEST_LINES)
    drawn = {trial.config for trial in fastest}
    others = [it for it in spread if it.seconds is not None and it.config not in drawn]
    step = max(1, -(-len(others) // _SPREAD_LINES))
    return [*others[::step], *reversed(fastest)]


def _task(watch: Watch, asked: Mapping[str, str]) -> WatchedTask | None:
    return watch.snapshot().task(asked.get("key", ""), asked.get("machine"))


def _name(run: WatchedRun) -> str:
    session = run.session
    return f"{parts.instant(session.started)} {session.tuner}, seed {session.seed}"


def _options(watch: Watch, task: WatchedTask) -> list[dict[str, str]]:
    """The runs of this task, those of other machines after its own, each newest first."""
    runs = [run for run in watch.snapshot().runs if run.session.task_key == task.key]
    runs.sort(key=lambda run: (run.machine == task.machine, run.session.started), reverse=True)
    return [
        {
            "label": clean(
                _name(run) if run.machine == task.machine else f"{_name(run)}, {run.session.device}"
            ),
            "value": run.session.uid,
        }
        for run in runs[:_MOST_OPTIONS]
    ]


def _series(task: WatchedTask) -> list[dict[str, str]]:
    return [
        {
            "label": clean(
                f"{share.series.sketch or 'no sketch'}, version {share.series.version}: "
                f"{share.trials:,} trials"
            ),
            "value": str(share.series.id),
        }
        for share in task.sketches[:_MOST_OPTIONS]
    ]


def _first_series(task: WatchedTask) -> str | None:
    shares = task.sketches
    return str(shares[0].series.id) if shares else None


def _trials_in(task: WatchedTask, series: str | None) -> int:
    return sum(share.trials for share in task.sketches if str(share.series.id) == series)
