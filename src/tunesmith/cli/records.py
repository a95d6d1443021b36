"""``tunesmith best``, ``history`` and ``report``: what the store holds. None of them needs TVM,
except a report that shows the program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json
from tunesmith.cli.past_runs import (
    current_sketches,
    default_of,
    flops_of,
    outcomes_by,
    sessions_by,
    shares_by,
    time_of,
)
from tunesmith.cli.task_choice import TaskChoice
from tunesmith.errors import UsageError, unknown_name
from tunesmith.measurement import Outcome

if TYPE_CHECKING:
    from tunesmith.measurement import Measurement
    from tunesmith.reports.tables import HistoryRow
    from tunesmith.store import Run, Store

TaskKey = Annotated[
    str | None,
    typer.Option("--task", help="The key of any task, as 'tunesmith history' lists it."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("best", context_settings=opt.PASS_OPERATOR_OPTIONS)(best)
    app.command("history", context_settings=opt.PASS_OPERATOR_OPTIONS)(history)
    app.command("report", context_settings=opt.PASS_OPERATOR_OPTIONS)(report)
    app.command("import")(import_records)


def best(
    context: typer.Context,
    *,
    operator: opt.OperatorName = None,
    layer: opt.Layer = None,
    task: TaskKey = None,
    target: opt.Device = "cpu",
    mcpu: opt.Processor = None,
    cores: opt.Cores = None,
    arch: opt.Arch = None,
    sketch: opt.SketchName = None,
    store: opt.StoreLocation = None,
    as_json: opt.Json = False,
) -> None:
    """Print the best record of a task on this machine."""
    from tunesmith.store import open_store

    choice = TaskChoice(operator, layer, opt.words_of(context), target, mcpu, cores, arch, sketch)
    key = _named(choice, task) or choice.task().key
    with open_store(store, create=False) as opened:
        sketches = current_sketches(opened, key, sketch)
        record = opened.best(key, among=sketches)
        if record is None:
            _check_known(opened, task)
            raise UsageError(f"nothing valid is recorded for {key} on this machine: tune it")
        outcomes = outcomes_by(opened, key, sketches)
        default = default_of(opened, record.session)
        time = time_of(sessions_by(opened, key, sketches))
        shares = shares_by(opened, key, sketches)
    flops = flops_of(record.session)
    found = {
        "task": key,
        "target": dict(record.target) or None,
        "trials": sum(outcomes.values()),
        "valid": outcomes.get(Outcome.NO_ERROR, 0),
        "outcomes": {outcome.name: count for outcome, count in outcomes.items()},
        "time": {**time, "total": sum(time.values())},
        "default": _found(default, record.session.sketches[0][0], flops),
        "best": _found(record.measurement, record.sketch, flops),
        **({"sketches": shares} if shares else {}),
    }
    if as_json:
        print_json(found)
        return
    from tunesmith.reports.tables import ResultRow, results_table

    out = console()
    out.print(key, soft_wrap=True, markup=False)
    rows = [ResultRow("best found", record.measurement.seconds, best=True)]
    baseline = None
    if default is not None and default.valid:
        baseline = ResultRow("default schedule", default.seconds)
        rows.insert(0, baseline)
    out.print(results_table(rows, flops, baseline))
    if record.sketch:
        out.print(f"sketch {record.sketch}", soft_wrap=True, markup=False)
    out.print(record.config.key, soft_wrap=True, markup=False)


def history(
    context: typer.Context,
    *,
    operator: opt.OperatorName = None,
    layer: opt.Layer = None,
    task: TaskKey = None,
    target: opt.Device = "cpu",
    mcpu: opt.Processor = None,
    cores: opt.Cores = None,
    arch: opt.Arch = None,
    store: opt.StoreLocation = None,
    as_json: opt.Json = False,
) -> None:
    """List the tuning runs of a task, or of all tasks if none is named."""
    from tunesmith.reports.tables import history_table
    from tunesmith.store import open_store

    named = _named(
        TaskChoice(operator, layer, opt.words_of(context), target, mcpu, cores, arch), task
    )
    with open_store(store, create=False) as opened:
        keys = [row.key for row in opened.tasks()] if named is None else [named]
        runs = {key: opened.runs(key) for key in keys}
        listed = [run for key in keys for run in runs[key]]
        if not listed:
            _check_known(opened, task)
        defaults = {run.session.uid: _seconds(default_of(opened, run.session)) for run in listed}
    if as_json:
        print_json({"runs": [_run_json(run, defaults[run.session.uid]) for run in listed]})
        return
    out = console()
    for key in keys:
        out.print(key, soft_wrap=True, markup=False)
        rows = [_run_row(run, defaults[run.session.uid]) for run in runs[key]]
        out.print(history_table(rows))
    if not keys:
        out.print("nothing is recorded on this machine")


def _named(choice: TaskChoice, task: str | None) -> str | None:
    """The key of the task that the words name, None where they name none."""
    if task is None:
        return choice.task().key if choice.named else None
    if choice.named:
        raise UsageError("name the task by --task or by its operator, not by both")
    return task


def _check_known(store: Store, task: str | None) -> None:
    """Raise ``UsageError`` if no task of the store has the key that --task gave."""
    known = [row.key for row in store.tasks()]
    if task is not None and task not in known:
        raise unknown_name("task", task, known, listed_by="tunesmith history")


def _run_json(run: Run, default: float | None) -> dict[str, Any]:
    session, flops = run.session, flops_of(run.session)
    speed = None if flops is None or run.best_seconds is None else flops / run.best_seconds / 1e9
    return {
        "task": session.task_key,
        "sketch": run.best_sketch or session.sketch,
        "sketches": dict(run.sketches),
        "tuner": session.tuner,
        "seed": session.seed,
        "started": session.started,
        "finished": session.finished,
        "stopped": session.stopped,
        "time": dict(session.time_split),
        "trials": run.trials,
        "default_seconds": default,
        "best_seconds": run.best_seconds,
        "gflops": speed,
    }


def _run_row(run: Run, default: float | None) -> HistoryRow:
    from tunesmith.reports.tables import HistoryRow

    return HistoryRow(
        started=run.session.started,
        tuner=run.session.tuner,
        trials=run.trials,
        best_seconds=run.best_seconds,
        sketch=run.best_sketch or run.session.sketch,
        default_seconds=default,
        flops=flops_of(run.session),
    )


def report(
    context: typer.Context,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML file to write.")],
    operator: opt.OperatorName = None,
    layer: opt.Layer = None,
    target: opt.Device = "cpu",
    mcpu: opt.Processor = None,
    cores: opt.Cores = None,
    arch: opt.Arch = None,
    sketch: opt.SketchName = None,
    store: opt.StoreLocation = None,
    as_json: opt.Json = False,
) -> None:
    """Write a self-contained HTML page about all runs of an operator's task on this machine."""
    from tunesmith.cli.report_page import write_task_report
    from tunesmith.store import open_store

    choice = TaskChoice(operator, layer, opt.words_of(context), target, mcpu, cores, arch, sketch)
    choice.task()  # complain about the words before anything heavy is loaded
    with open_store(store, create=False) as opened:
        problems = choice.problems()
        write_task_report(opened, problems, output)
    if as_json:
        print_json({"task": problems[0].key, "report": str(output)})
    else:
        console().print(f"report: {output}", soft_wrap=True, markup=False)


def import_records(
    file: Annotated[Path, typer.Argument(help="A file of records that a run could not store.")],
    store: opt.StoreLocation = None,
    as_json: opt.Json = False,
) -> None:
    """Add the records that a run had to rescue because its store failed."""
    from tunesmith.store import open_store

    with open_store(store) as opened:
        added = opened.import_rescued(file)
    if as_json:
        print_json({"added": added})
    else:
        console().print(f"{added} records added")


def _seconds(measurement: Measurement | None) -> float | None:
    return measurement.seconds if measurement is not None and measurement.valid else None


def _found(
    measurement: Measurement | None, sketch: str, flops: float | None
) -> dict[str, Any] | None:
    if measurement is None or not measurement.valid:
        return None
    return {**measurement.summary(flops), **({"sketch": sketch} if sketch else {})}
