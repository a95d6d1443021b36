"""``tunesmith best``, ``history`` and ``report``: what the store holds. None of them needs TVM,
except a report that shows the program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json
from tunesmith.cli.task_choice import TaskChoice
from tunesmith.errors import UsageError
from tunesmith.measurement import Outcome

if TYPE_CHECKING:
    from tunesmith.measurement import Measurement
    from tunesmith.store import Session, Store
    from tunesmith.task import Task

PHASES = ("search", "build", "run", "idle")


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
    target: opt.Device = "cpu",
    mcpu: opt.Processor = None,
    cores: opt.Cores = None,
    sketch: opt.SketchName = None,
    store: opt.StoreLocation = None,
    as_json: opt.Json = False,
) -> None:
    """Print the best record of a task on this machine."""
    from tunesmith.store import open_store

    task = TaskChoice(operator, layer, opt.words_of(context), target, mcpu, cores, sketch).task()
    with open_store(store) as opened:
        record = opened.best(task.key, sketch=sketch)
        if record is None:
            raise UsageError(f"nothing valid is recorded for {task.key} on this machine: tune it")
        outcomes = opened.outcomes(
            task.key, sketch=record.sketch, sketch_version=record.sketch_version
        )
        default = _default_of(opened, record.session)
        sessions = opened.sessions(task.key)
    found = {
        "task": task.key,
        "target": dict(record.target),
        "trials": sum(outcomes.values()),
        "valid": outcomes.get(Outcome.NO_ERROR, 0),
        "outcomes": {outcome.name: count for outcome, count in outcomes.items()},
        "time": _time(sessions),
        "default": _found(task, default),
        "best": _found(task, record.measurement),
    }
    if as_json:
        print_json(found)
        return
    from tunesmith.reports.tables import ResultRow, results_table

    out = console()
    out.print(task.key, soft_wrap=True, markup=False)
    rows = [ResultRow("best found", record.measurement.seconds, best=True)]
    baseline = None
    if default is not None and default.valid:
        baseline = ResultRow("default schedule", default.seconds)
        rows.insert(0, baseline)
    out.print(results_table(rows, task.operator.flops, baseline))
    out.print(record.config.key, soft_wrap=True, markup=False)


def history(
    context: typer.Context,
    *,
    operator: opt.OperatorName = None,
    layer: opt.Layer = None,
    target: opt.Device = "cpu",
    mcpu: opt.Processor = None,
    cores: opt.Cores = None,
    store: opt.StoreLocation = None,
    as_json: opt.Json = False,
) -> None:
    """List the tuning runs of a task, or of all tasks if none is named."""
    from tunesmith.reports.tables import history_table
    from tunesmith.store import open_store

    with open_store(store) as opened:
        if operator is None and layer is None:
            keys = [row.key for row in opened.tasks()]
        else:
            choice = TaskChoice(operator, layer, opt.words_of(context), target, mcpu, cores)
            keys = [choice.task().key]
        runs = {key: opened.runs(key) for key in keys}
        defaults = {
            run.session.uid: _default_of(opened, run.session) for key in keys for run in runs[key]
        }
    if as_json:
        listed = [
            {
                "task": run.session.task_key,
                "tuner": run.session.tuner,
                "seed": run.session.seed,
                "started": run.session.started,
                "finished": run.session.finished,
                "stopped": run.session.stopped,
                "time": dict(run.session.time_split),
                "trials": run.trials,
                "best_seconds": run.best_seconds,
            }
            for key in keys
            for run in runs[key]
        ]
        print_json({"runs": listed})
        return
    from tunesmith.cli.report_page import history_row

    out = console()
    for key in keys:
        out.print(key, soft_wrap=True, markup=False)
        rows = [history_row(run, defaults[run.session.uid]) for run in runs[key]]
        out.print(history_table(rows))
    if not keys:
        out.print("nothing is recorded on this machine")


def report(
    context: typer.Context,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML file to write.")],
    operator: opt.OperatorName = None,
    layer: opt.Layer = None,
    target: opt.Device = "cpu",
    mcpu: opt.Processor = None,
    cores: opt.Cores = None,
    sketch: opt.SketchName = None,
    store: opt.StoreLocation = None,
    as_json: opt.Json = False,
) -> None:
    """Write a self-contained HTML page about all runs of a task on this machine."""
    from tunesmith.cli.report_page import write_task_report
    from tunesmith.store import open_store

    choice = TaskChoice(operator, layer, opt.words_of(context), target, mcpu, cores, sketch)
    choice.task()  # complain about the words before anything heavy is loaded
    with open_store(store) as opened:
        problem = choice.problem()
        write_task_report(opened, problem, output, {}, "")
    if as_json:
        print_json({"task": problem.key, "report": str(output)})
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


def _default_of(store: Store, session: Session) -> Measurement | None:
    """What is known of the config that a run compared with."""
    if session.default is None:
        return None
    return store.measurement_of(
        session.task_key,
        session.default,
        sketch=session.sketch,
        sketch_version=session.sketch_version,
    )


def _time(sessions: list[Session]) -> dict[str, float]:
    spent = {phase: sum(s.time_split.get(phase, 0.0) for s in sessions) for phase in PHASES}
    return {**spent, "total": sum(spent.values())}


def _found(task: Task, measurement: Measurement | None) -> dict[str, Any] | None:
    if measurement is None or not measurement.valid:
        return None
    return {
        "seconds": measurement.seconds,
        "gflops": task.operator.flops / measurement.seconds / 1e9,
        "config": measurement.config.to_json(),
    }
