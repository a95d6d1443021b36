"""The page of the machines and devices that records are from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import Dash, Input, Output, html

from tunesmith.dashboard import parts
from tunesmith.dashboard.described import device_of
from tunesmith.dashboard.watch import Watch
from tunesmith.reports import format as fmt


def layout(_watch: Watch, _asked: Mapping[str, str]) -> list[Any]:
    return [
        html.P("Machines", className="kicker"),
        html.H1("Machines and devices"),
        html.P(
            "Times of different machines are not comparable: records of each are kept apart.",
            className="summary",
        ),
        html.Div(id="machine-table"),
    ]


def register(app: Dash, watch: Watch) -> None:
    def update(_pulse: str) -> Any:
        return content(watch)

    app.callback(Output("machine-table", "children"), Input("pulse", "data"))(update)


def content(watch: Watch) -> html.Div:
    """A table of the machines, the one heard of last first."""
    tasks: dict[str, list[Any]] = {}
    for task in watch.snapshot().tasks:
        tasks.setdefault(task.machine, []).append(task)
    last = {name: max(task.heard for task in its) for name, its in tasks.items()}
    newest = sorted(tasks, key=lambda name: last[name], reverse=True)
    rows = []
    for name in newest[: parts.MOST_ROWS]:
        its = tasks[name]
        machine = its[-1].session.machine
        known = {key: it for key, it in machine.items() if key not in ("fingerprint", "isa")}
        rows.append(
            [
                parts.said(device_of(its[-1].session), 60),
                parts.said(fmt.listed(known), 160),
                html.Code(parts.said(name, 24)),
                fmt.count(len(its)),
                fmt.count(sum(len(task.runs) for task in its)),
                fmt.count(sum(task.trials for task in its)),
                html.Time(parts.instant(last[name])),
            ]
        )
    heads = ("Device", "Machine", "Fingerprint", "Tasks", "Runs", "Trials", "Last heard of (UTC)")
    return parts.table(
        heads, rows, amounts=(3, 4, 5), name="Machines", total=len(newest), nothing="no machine yet"
    )
