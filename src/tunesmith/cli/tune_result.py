"""What a tuning run prints in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tunesmith.cli.output import console, print_json, remark
from tunesmith.cli.past_runs import elsewhere
from tunesmith.errors import TunesmithError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tunesmith.tuning.result import Result


def print_result(result: Result, compared: Mapping[str, float], *, as_json: bool) -> None:
    """Print the result. Raises ``StoreError`` if not all trials could be stored."""
    from tunesmith.tuning.result import check_stored

    if as_json:
        peers = {name: {"seconds": seconds} for name, seconds in compared.items()}
        print_json({**result.to_json(), **({"peers": peers} if peers else {})})
    else:
        _print_tables(result, compared)
    if result.advice:
        remark(result.advice)
    check_stored(result)


def complain(result: Result) -> None:
    """Raise ``TunesmithError`` if nothing valid was found, or nothing is left to measure on."""
    if result.best is None or result.lost:
        raise TunesmithError(result.reason or result.lost)


def _print_tables(result: Result, compared: Mapping[str, float]) -> None:
    from tunesmith.reports.tables import ResultRow, outcomes_table, results_table, sketches_table

    out = console()
    rows = []
    baseline = None
    if result.default is not None:
        baseline = ResultRow("default schedule", result.default.seconds)
        rows.append(baseline)
    rows += [ResultRow(name, seconds) for name, seconds in compared.items()]
    if result.best is not None:
        rows.append(ResultRow("best found", result.best.seconds, best=True))
    out.print(result.problem.key, soft_wrap=True, markup=False)
    where = "" if result.session is None else elsewhere(result.session)
    if where:
        out.print(where, soft_wrap=True, markup=False)
    out.print(
        f"{result.trials} trials ({result.valid} valid, {result.resumed} of them from earlier "
        f"runs) in {result.time['total']:.1f} s; stopped: {result.stopped.meaning}",
        soft_wrap=True,
    )
    if result.shared:
        out.print(
            f"{result.shared} of them were measured by other runs at the same time", soft_wrap=True
        )
    if result.repeated:
        out.print(
            f"{result.repeated} of them made a program that had been measured, and were not run",
            soft_wrap=True,
        )
    task = getattr(result.problem, "task", None)
    if task is not None and task.target.kind == "cuda":
        idle = 1.0 - result.time["run"] / max(result.time["total"], 1e-9)
        out.print(f"the GPU was idle for {idle:.0%} of the time", soft_wrap=True)
    if result.trials:
        out.print(outcomes_table(result.outcomes))
    if len(result.sketches) > 1:
        best = "" if result.best is None else result.best.sketch
        sketches = [(name, it.trials, it.best_seconds) for name, it in result.sketches.items()]
        out.print(sketches_table(sketches, best, result.problem.flops))
    if rows:
        out.print(results_table(rows, result.problem.flops, baseline))
