"""The first page: tasks and runs of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from dash import Dash, Input, Output, dcc, html

from tunesmith.dashboard import parts
from tunesmith.dashboard.described import device_of, flops_of, title_of
from tunesmith.dashboard.runs import Snapshot, WatchedRun, WatchedTask
from tunesmith.dashboard.watch import Watch
from tunesmith.reports import format as fmt


def layout(_watch: Watch, _asked: Mapping[str, str]) -> list[Any]:
    return [
        html.P("Store", className="kicker"),
        html.H1("Tuning runs"),
        html.Ul(id="store-cards", className="cards", **{"aria-label": "Key figures"}),
        html.Div(
            dcc.Input(
                id="filter",
                type="search",
                debounce=0.3,
                placeholder="part of a task, device or tuner",
                className="filter",
            )
        ),
        parts.section("tasks", "Tasks", html.Div(id="task-table")),
        parts.section("runs", "Runs, newest first", html.Div(id="run-table")),
    ]


def register(app: Dash, watch: Watch) -> None:
    def update(_pulse: str, wanted: str | None) -> tuple[Any, Any, Any]:
        return content(watch, (wanted or "").casefold(), datetime.now(UTC))

    app.callback(
        Output("store-cards", "children"),
        Output("task-table", "children"),
        Output("run-table", "children"),
        Input("pulse", "data"),
        Input("filter", "value"),
    )(update)


def content(watch: Watch, wanted: str, now: datetime) -> tuple[Any, Any, Any]:
    """Key figures, and the tables of tasks and of runs that have the ``wanted`` text."""
    known = watch.snapshot()
    tasks = [task for task in known.tasks if wanted in _searched(task)]
    runs = [run for run in known.runs if wanted in _searched_run(run)]
    tasks.sort(key=lambda task: task.heard, reverse=True)
    runs.sort(key=lambda run: (run.is_live(now), run.session.started), reverse=True)
    return _cards(known, now), _task_table(watch, tasks), _run_table(runs, now)


def _searched(task: WatchedTask) -> str:
    return f"{task.key} {title_of(task.session)} {device_of(task.session)}".casefold()


def _searched_run(run: WatchedRun) -> str:
    session = run.session
    text = f"{session.task_key} {title_of(session)} {device_of(session)} {session.tuner}"
    return text.casefold()


def _cards(known: Snapshot, now: datetime) -> list[html.Li]:
    live = sum(run.is_live(now) for run in known.runs)
    valid = sum(task.valid for task in known.tasks)
    machines = len({task.machine for task in known.tasks})
    return parts.cards(
        ("Running now", fmt.count(live), ""),
        ("Runs", fmt.count(len(known.runs)), f"on {fmt.counted(machines, 'machine')}"),
        ("Tasks", fmt.count(len(known.tasks)), ""),
        ("Trials", fmt.count(known.trials), f"{fmt.share(valid, known.trials)} valid"),
    )


def _task_table(watch: Watch, tasks: Sequence[WatchedTask]) -> html.Div:
    rows = []
    for task in tasks[: parts.MOST_ROWS]:
        best = watch.best(task)
        seconds = None if best is None else best.measurement.seconds
        rows.append(
            [
                parts.link(title_of(task.session), "/task", key=task.key, machine=task.machine),
                fmt.seconds(seconds),
                fmt.speed(seconds, flops_of(task.session)),
                fmt.count(task.trials),
                fmt.count(len(task.runs)),
                parts.said("" if best is None else best.sketch, 40),
                parts.said(device_of(task.session), 40),
            ]
        )
    heads = ("Task", "Best time", "Speed", "Trials", "Runs", "Sketch", "Device")
    return parts.table(
        heads, rows, amounts=(1, 2, 3, 4), name="Tasks", total=len(tasks), nothing="no task"
    )


def _run_table(runs: Sequence[WatchedRun], now: datetime) -> html.Div:
    rows = []
    for run in runs[: parts.MOST_ROWS]:
        session = run.session
        rows.append(
            [
                html.Time(parts.instant(session.started)),
                parts.state(run, now),
                parts.link(
                    title_of(session),
                    "/task",
                    key=session.task_key,
                    machine=run.machine,
                    runs=session.uid,
                ),
                parts.said(session.tuner, 40),
                _count(run),
                fmt.share(run.valid, run.trials),
                fmt.seconds(run.best_seconds),
                parts.said(device_of(session), 40),
            ]
        )
    heads = ("Started (UTC)", "State", "Task", "Tuner", "Trials", "Valid", "Best time", "Device")
    return parts.table(
        heads, rows, amounts=(4, 5, 6), name="Runs", total=len(runs), nothing="no run"
    )


def _count(run: WatchedRun) -> str:
    """The trials of a run, or how many programs with edits it has evaluated."""
    if run.evaluated is None:
        return fmt.count(run.trials)
    return fmt.counted(run.evaluated.count, "edit")
