"""``tunesmith history``: the tuning runs that a store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json
from tunesmith.cli.past_runs import RecordedTask, default_of, flops_of

if TYPE_CHECKING:
    from tunesmith.measurement import Measurement
    from tunesmith.reports.tables import HistoryRow
    from tunesmith.store import Run


def history(
    choice: RecordedTask,
    *,
    all_machines: Annotated[
        bool, Option("--all-machines", help="Runs on other machines, too, and imported ones.")
    ] = False,
    store: opt.StoreLocation = None,
    as_json: opt.Json = False,
) -> None:
    """List the tuning runs of a task, or of all tasks if none is named."""
    from tunesmith.reports.tables import history_table
    from tunesmith.store import ANY_MACHINE, open_store

    named, machine = choice.key, ANY_MACHINE if all_machines else None
    with open_store(store, create=False) as opened:
        keys = [row.key for row in opened.tasks(machine=machine)] if named is None else [named]
        runs = {key: opened.runs(key, machine=machine) for key in keys}
        listed = [run for key in keys for run in runs[key]]
        if not listed:
            choice.check_known(opened)
        if named is None:  # a store also has tasks of other machines
            keys = [key for key in keys if runs[key]]
        defaults = {run.session.uid: _seconds(default_of(opened, run.session)) for run in listed}
    if as_json:
        print_json({"runs": [_run_json(run, defaults[run.session.uid]) for run in listed]})
        return
    out = console()
    for key in keys:
        out.print(key, soft_wrap=True, markup=False)
        rows = [_run_row(run, defaults[run.session.uid]) for run in runs[key]]
        out.print(history_table(rows, with_machines=all_machines))
    if not keys:
        others = "" if all_machines else ": --all-machines lists the runs of others, too"
        out.print(f"nothing is recorded on this machine{others}", soft_wrap=True, markup=False)


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
        "machine": session.device,
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
        machine=run.session.device,
    )


def _seconds(measurement: Measurement | None) -> float | None:
    return measurement.seconds if measurement is not None and measurement.valid else None
