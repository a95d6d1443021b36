"""``tunesmith best``: the best record of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json
from tunesmith.cli.past_runs import (
    RecordedTask,
    check_sketch,
    current_sketches,
    default_of,
    elsewhere,
    flops_of,
    outcomes_by,
    sessions_by,
    shares_by,
    time_of,
)
from tunesmith.errors import UsageError
from tunesmith.measurement import Outcome

if TYPE_CHECKING:
    from tunesmith.measurement import Measurement


def best(
    choice: RecordedTask,
    *,
    sketch: opt.SketchName = None,
    store: opt.StoreLocation = None,
    as_json: opt.Json = False,
) -> None:
    """Print the best record of a task on this machine."""
    from tunesmith.store import open_store

    key = choice.key or choice.task().key
    with open_store(store, create=False) as opened:
        sketches = current_sketches(opened, key, sketch)
        record = opened.best(key, among=sketches)
        if record is None:
            choice.check_known(opened)
            if sketch is not None:
                check_sketch(sketch)
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
    if where := elsewhere(record.session):
        out.print(where, soft_wrap=True, markup=False)
    rows = [ResultRow("best found", record.measurement.seconds, best=True)]
    baseline = None
    if default is not None and default.valid:
        baseline = ResultRow("default schedule", default.seconds)
        rows.insert(0, baseline)
    out.print(results_table(rows, flops, baseline))
    if record.sketch:
        out.print(f"sketch {record.sketch}", soft_wrap=True, markup=False)
    out.print(record.config.key, soft_wrap=True, markup=False)


def _found(
    measurement: Measurement | None, sketch: str, flops: float | None
) -> dict[str, Any] | None:
    if measurement is None or not measurement.valid:
        return None
    return {**measurement.summary(flops), **({"sketch": sketch} if sketch else {})}
