"""The page of a network: its layers, and what tuning has brought each of them so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import Dash, Input, Output, html

from tunesmith.dashboard import parts
from tunesmith.dashboard.network import WatchedNetwork
from tunesmith.dashboard.watch import Watch
from tunesmith.machine import machine_of
from tunesmith.reports import format as fmt
from tunesmith.reports.networks.figures import make_figures
from tunesmith.reports.networks.model import NetworkReport, TaskRow
from tunesmith.reports.networks.tables import of_peak

_SLOTS = {
    "layers": parts.Slot("layers", "Where the time goes: by layer", wide=True),
    "operators": parts.Slot(
        "operators", "Where the time goes: by operator", wide=True, explorable=False
    ),
    "gains": parts.Slot("gains", "Before and after tuning", wide=True),
}


class NetworkPage:
    """The page, of the network that the dashboard was started with."""

    def __init__(self, watched: WatchedNetwork) -> None:
        self._watched = watched

    def layout(self, _watch: Watch, _asked: Mapping[str, str]) -> list[Any]:
        return [
            html.P("Network", className="kicker"),
            html.H1(parts.said(self._watched.title)),
            html.Ul(id="network-cards", className="cards", **{"aria-label": "Key figures"}),
            html.Div([slot.layout() for slot in _SLOTS.values()], className="figures"),
            parts.section("network-tasks", "Tasks, the dearest first", html.Div(id="task-list")),
        ]

    def register(self, app: Dash, _watch: Watch) -> None:
        def update(_pulse: str, scheme: str | None) -> list[Any]:
            return self.content(dark=scheme == "dark")

        app.callback(
            Output("network-cards", "children"),
            Output("task-list", "children"),
            *(it for slot in _SLOTS.values() for it in slot.outputs()),
            Input("pulse", "data"),
            Input("scheme", "data"),
        )(update)

    def content(self, *, dark: bool) -> list[Any]:
        """Key figures, the table of tasks, and what fills the slots of the figures."""
        report = self._watched.report()
        figures = {}
        if any(task.seconds is not None for task in report.tasks):
            figures = {figure.name: figure for figure in make_figures(report)}
        nothing = "no layer has a time on this machine yet"
        filled = [slot.filled(figures.get(name), dark, nothing) for name, slot in _SLOTS.items()]
        return [_cards(report), _tasks(report), *(it for values in filled for it in values)]


def _cards(report: NetworkReport) -> list[html.Li]:
    timed = [task for task in report.tasks if task.seconds is not None]
    gain = report.gain
    before = "" if gain is None else f"{fmt.seconds(gain[0])} with default schedules"
    return parts.cards(
        ("All timed layers", fmt.seconds(report.seconds) if timed else fmt.NOTHING, before),
        ("Gain", fmt.NOTHING if gain is None else fmt.gain(*gain), "over default schedules"),
        ("Tasks with a time", f"{len(timed)} of {len(report.tasks)}", ""),
        ("Trials", fmt.count(sum(task.trials for task in report.tasks)), ""),
    )


def _tasks(report: NetworkReport) -> html.Div:
    dearest = sorted(report.tasks, key=lambda task: -task.spent)
    rows = [_row(task, report.seconds) for task in dearest[: parts.MOST_ROWS]]
    heads = ("Task", "Layers", "Time", "Share", "GFLOP/s", "Of peak", "Gain", "Trials", "Sketch")
    return parts.table(heads, rows, amounts=(1, 2, 3, 4, 5, 6, 7), name="Tasks", total=len(dearest))


def _row(task: TaskRow, total: float) -> list[Any]:
    name: Any = parts.said(task.brief)
    if task.trials:
        machine = machine_of(task.key)["fingerprint"]
        name = parts.link(task.brief, "/task", key=task.key, machine=machine)
    timed = task.seconds is not None
    return [
        name,
        fmt.count(task.layers),
        fmt.seconds(task.spent) if timed else fmt.NOTHING,
        fmt.share(task.spent, total) if timed else fmt.NOTHING,
        fmt.decimal(task.gflops, 1),
        of_peak(task.share_of_peak, task.limit),
        fmt.gain(task.default_seconds, task.seconds),
        fmt.count(task.trials),
        parts.said(task.sketch or fmt.NOTHING, 40),
    ]
