"""Figure 4 where searches without a model have two trials for one, from runs that are kept.

``python -m tunesmith.bench.autotvm.two_for_one docs/benchmarks/models-runs/model 384``
measures nothing.
With two trials for one a run is the same search by a clock that is half as fast: so runs of a
number of trials tell what it finds in half of them. The code that did them may be an older one.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tunesmith.bench.autotvm.experiments import PARTS
from tunesmith.bench.autotvm.figures import lines
from tunesmith.bench.compare.runs import CompareSettings, Results, Run
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.summary import summarise
from tunesmith.bench.pages.templates import table
from tunesmith.bench.papers.estimate import Estimate
from tunesmith.bench.papers.tables import with_error
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.reports import format as fmt

_PART = PARTS["model"]
_TWICE = {"GA": "GA × 2", "random": "random × 2"}


def kept(folder: Path, trials: int) -> Results:
    """The runs of so many trials that a folder of the part ``model`` keeps, whatever code did them.

    Raises ``UsageError`` where there are none.
    """
    settings = CompareSettings(_PART.repeats, trials=trials)
    part = replace(_PART, lines=[it for it in _PART.lines if it.name not in _TWICE.values()])
    comparison = part.comparison(part.problems(Path()), settings, folder)
    found = {run: comparison.kept.load_of_any_code(run) for run in comparison.runs()}
    traces = {run: trace for run, trace in found.items() if trace and trace.trials == trials}
    if not traces:
        raise UsageError(f"{folder} keeps no runs of the part {_PART.name} with {trials} trials")
    return Results(comparison.problems, comparison.tuners, traces)


def two_for_one(results: Results, trials: int) -> list[dict[str, Any]]:
    """The rows of lines, as in ``figures.lines``, after half of the ``trials`` that runs have; with
    two trials for one they had them all."""
    half = trials // 2
    traces: dict[Run, Trace] = {}
    for run, trace in results.traces.items():
        traces[run] = trace.first(half)
        if twice := _TWICE.get(run.tuner.label):
            doubled = replace(run.tuner, label=twice, multiplier=2)
            traces[replace(run, tuner=doubled)] = trace.first(2 * half).slowed(2)
    tuners = list(dict.fromkeys(run.tuner for run in traces))
    summary = summarise(Results(results.problems, tuners, traces))
    return lines(summary, half, references=tuple(_TWICE.values()))


def as_table(rows: Sequence[Mapping[str, Any]], repeats: int) -> str:
    """A row for each line, in Markdown: where it is after half of the trials, and in which share of
    pairs it was at 95 % of the best sooner, and later, than those with two for one."""
    head = ["", "trials to 95 %", "runs to 95 %", "best, %"]
    head += [f"sooner (later) than {name}" for name in _TWICE.values()]
    return table(head, [[*_found(row, repeats), *_beside(row)] for row in rows])


def _found(row: Mapping[str, Any], repeats: int) -> list[str]:
    to_95 = row["trials_to_95"]
    return [
        row["line"],
        "never" if to_95 is None else f"{to_95:.0f}",
        fmt.percent(row["reached"], 0),
        with_error(Estimate(row["best"], row["best_error"], repeats)),
    ]


def _beside(row: Mapping[str, Any]) -> list[str]:
    return [
        f"{fmt.percent(row['sooner'][name], 0)} ({fmt.percent(row['later'][name], 0)})"
        if name in row["sooner"]
        else fmt.NOTHING
        for name in _TWICE.values()
    ]


def main() -> None:
    try:
        folder, trials = Path(sys.argv[1]), int(sys.argv[2])
    except (IndexError, ValueError):
        sys.exit("usage: python -m tunesmith.bench.autotvm.two_for_one FOLDER TRIALS")
    try:
        print(as_table(two_for_one(kept(folder, trials), trials), _PART.repeats))
    except TunesmithError as error:
        sys.exit(f"tunesmith: {error}")


if __name__ == "__main__":
    main()
