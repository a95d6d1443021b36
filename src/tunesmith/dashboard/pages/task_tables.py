"""The figures and tables in text of a task's page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from dash import html

from tunesmith.dashboard import parts
from tunesmith.dashboard.described import device_of, flops_of
from tunesmith.dashboard.runs import WatchedRun, WatchedTask
from tunesmith.dashboard.watch import Watch
from tunesmith.reports import format as fmt
from tunesmith.store import Record

NAMES: Final = (
    "task-cards",
    "task-facts",
    "task-runs",
    "task-sketches",
    "task-config",
    "task-failures",
)
"""The elements that `content` fills, in its order."""

_LAST_TRIALS = 500
_MOST_FAILURES = 12


def content(watch: Watch, task: WatchedTask, now: datetime) -> list[Any]:
    """The content of each of `NAMES`."""
    best = watch.best(task)
    return [
        _cards(watch, task, best),
        _facts(task),
        _runs(task, now),
        _sketches(task, best),
        _config(best),
        _failures(watch, task),
    ]


def _cards(watch: Watch, task: WatchedTask, best: Record | None) -> list[html.Li]:
    seconds = None if best is None else best.measurement.seconds
    default = watch.default_seconds(task.runs[-1])
    note = "" if default is None else f"default: {fmt.seconds(default)}"
    confirmed = "" if best is None else "confirmed by a play-off" if best.play_off else "one trial"
    return parts.cards(
        ("Time a call", fmt.seconds(seconds), confirmed),
        ("Speed", fmt.speed(seconds, flops_of(task.session)), ""),
        ("Against the default", fmt.gain(default, seconds), note),
        ("Trials", fmt.count(task.trials), f"{fmt.share(task.valid, task.trials)} valid"),
    )


def _facts(task: WatchedTask) -> html.Dl:
    last = task.session
    target = {name: it for name, it in last.target.items() if name != "host"}
    software = ", ".join(f"{name} {version}" for name, version in last.versions.items())
    return parts.facts(
        {
            "Device": parts.said(device_of(last)),
            "Target": parts.said(fmt.listed(target)) if target else "",
            "Software": parts.said(software) if software else "",
        }
    )


def _runs(task: WatchedTask, now: datetime) -> html.Div:
    newest = sorted(task.runs, key=lambda run: run.session.started, reverse=True)
    rows = [
        [
            html.Time(parts.instant(run.session.started)),
            parts.state(run, now),
            parts.said(run.session.tuner, 40),
            parts.said(run.session.seed, 20),
            parts.said(fmt.listed(run.session.budget) or "none", 60),
            fmt.duration(_seconds(run)),
            fmt.count(run.trials),
            fmt.share(run.valid, run.trials),
            fmt.seconds(run.best_seconds),
        ]
        for run in newest[: parts.MOST_ROWS]
    ]
    heads = (
        "Started (UTC)",
        "State",
        "Tuner",
        "Seed",
        "Budget",
        "Took",
        "Trials",
        "Valid",
        "Best time",
    )
    return parts.table(heads, rows, amounts=(5, 6, 7, 8), name="Runs", total=len(newest))


def _seconds(run: WatchedRun) -> float:
    """How long a run took, or has taken so far."""
    spent = sum(run.session.time_split.values())
    return spent or (run.heard - run.session.started).total_seconds()


def _sketches(task: WatchedTask, best: Record | None) -> html.Div:
    shares, flops = task.sketches, flops_of(task.session)
    rows = [
        [
            parts.said(share.series.sketch or "no sketch", 60),
            str(share.series.version),
            fmt.count(share.trials),
            fmt.share(share.trials, task.trials),
            fmt.share(share.valid, share.trials),
            fmt.seconds(share.seconds),
            fmt.speed(share.seconds, flops),
        ]
        for share in shares[: parts.MOST_ROWS]
    ]
    winner = next(
        (
            place
            for place, share in enumerate(shares)
            if best is not None
            and (share.series.sketch, share.series.version) == (best.sketch, best.sketch_version)
        ),
        None,
    )
    heads = ("Sketch", "Version", "Trials", "Share", "Valid", "Best trial", "Speed")
    return parts.table(
        heads, rows, amounts=(1, 2, 3, 4, 5, 6), best=winner, name="Sketches", total=len(shares)
    )


def _config(best: Record | None) -> html.Div:
    if best is None:
        return html.Div(html.P("no valid trial yet", className="summary"))
    values: Mapping[str, Any] = dict(best.config)
    named = (best.sketch, best.sketch_version)
    default = best.session.default if named == best.session.sketches[0] else None
    shown = list(values.items())[: parts.MOST_ROWS]
    rows = [
        [
            html.Code(parts.said(name, 60)),
            html.Code(parts.said(fmt.config_value(value), 80)),
            *([] if default is None else [_of_default(default, name, value)]),
        ]
        for name, value in shown
    ]
    heads = (
        ("Parameter", "Best found") if default is None else ("Parameter", "Best found", "Default")
    )
    return parts.table(heads, rows, name="The best config", total=len(values))


def _of_default(default: Any, name: str, value: Any) -> Any:
    """A value of the default config, which stands out if it is another one."""
    if name not in default:
        return fmt.NOTHING
    text = html.Code(parts.said(fmt.config_value(default[name]), 80))
    return text if default[name] == value else html.Span([text, html.Span("≠", className="mark")])


def _failures(watch: Watch, task: WatchedTask) -> html.Div:
    failed = watch.store.last_failures(task.series, _LAST_TRIALS)
    rows = [
        [
            fmt.outcome_name(trial.outcome),
            parts.said(trial.message or "no message", 300),
            html.Code(parts.said(trial.config, 160)),
        ]
        for trial in failed[:_MOST_FAILURES]
    ]
    nothing = f"none among the last {_LAST_TRIALS} trials"
    return parts.table(
        ("Outcome", "Message", "Config"),
        rows,
        name="Latest failures",
        nothing=nothing,
        total=len(failed),
    )
