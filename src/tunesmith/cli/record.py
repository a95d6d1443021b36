"""``tunesmith record``: a space measured on this machine, to be replayed anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from tunesmith.budget import Stop
from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json, print_text, remark, shown_progress
from tunesmith.cli.task_choice import SketchChoice
from tunesmith.errors import UsageError
from tunesmith.measurement import Outcome

if TYPE_CHECKING:
    from tunesmith.bench.recording.record_space import RecordingState
    from tunesmith.measure.recorded.replay import ReplayProblem


def record(
    output: Annotated[Path, Option("-o", "--output", help="The file to write, NAME.json.gz.")],
    choice: SketchChoice,
    *,
    where: Annotated[
        list[str] | None, Option(help="Only configs of which this holds; repeatable.")
    ] = None,
    sample: Annotated[
        int | None, Option(help="So many configs, drawn uniformly; default: all.")
    ] = None,
    seed: Annotated[int, Option(help="Seed of the sample and the order.")] = 0,
    seconds: Annotated[float | None, Option(help="Stop after so many; run again to go on.")] = None,
    store: opt.StoreLocation = None,
    measure: opt.MeasureOptions,
    as_json: opt.Json = False,
) -> None:
    """Measure a whole space, or a uniform sample of it, into a T4 file."""
    if seed < 0:
        raise UsageError(f"the seed is {seed}: give 0 or more")
    # Complain about the words before anything heavy is loaded.
    choice.task().target.check_measurable()
    from tunesmith.bench.recording.record_space import (
        SpacePart,
        check_output,
        count_configs,
        restricted,
        write_recording,
    )
    from tunesmith.bench.recording.record_space import record as measured
    from tunesmith.measure.recorded.replay import ReplayProblem
    from tunesmith.store import open_store
    from tunesmith.tuning.result import check_stored

    problem, *others = choice.problems()
    if others:
        names = ", ".join(it.sketch.name for it in (problem, *others))
        raise UsageError(f"a recording is of one sketch: name it with --sketch, one of {names}")
    # A recorded trial costs what it costs, whatever came before it.
    settings = measure.settings(measure_again=True)
    part = SpacePart(problem, restricted(problem.space, where or ()), settings)
    count = count_configs(part.space, sample)
    check_output(output, part)
    with open_store(store) as opened, shown_progress(count, None, part.flops) as progress:
        recording = measured(
            part, sample=sample, seed=seed, store=opened, seconds=seconds, progress=progress
        )
    check_stored(recording.result)
    replay = None
    if recording.complete:
        write_recording(output, recording)
        replay = ReplayProblem(output)
    _print(recording, output, replay, as_json=as_json)
    if recording.result.stopped is Stop.INTERRUPTED:
        raise KeyboardInterrupt


def _print(
    recording: RecordingState, output: Path, replay: ReplayProblem | None, *, as_json: bool
) -> None:
    done = len(recording.trials)
    if as_json:
        print_json(_summary(recording, output))
    elif replay is None:
        remark(
            f"{done:,} of {recording.planned:,} configs are measured "
            f"({recording.result.stopped.meaning}): the same command goes on"
        )
    else:
        _print_tables(recording, replay)
        print_text(f"recording: {output}")


def _summary(recording: RecordingState, output: Path) -> dict[str, Any]:
    outcomes = recording.outcomes
    return {
        "task": recording.part.problem.key,
        "sketch": recording.part.describe()["sketch"],
        "configs": recording.planned,
        "trials": len(recording.trials),
        "valid": outcomes[Outcome.NO_ERROR],
        "outcomes": {outcome.name: count for outcome, count in outcomes.items()},
        "best_seconds": min((m.seconds for m, _ in recording.trials if m.valid), default=None),
        "time": dict(recording.result.time),
        "stopped": recording.result.stopped.value,
        "recording": str(output) if recording.complete else None,
    }


def _print_tables(recording: RecordingState, replay: ReplayProblem) -> None:
    import numpy as np

    from tunesmith.reports.tables import ResultRow, outcomes_table, results_table

    out = console()
    valid = np.sort(replay.seconds[np.isfinite(replay.seconds)])
    median = ResultRow("median", float(np.median(valid)))
    rows = [median, ResultRow("best", float(valid[0]), best=True)]
    out.print(recording.part.problem.key, soft_wrap=True, markup=False)
    out.print(
        f"{len(replay.configs):,} configs ({len(valid):,} valid), whose trials took "
        f"{replay.costs.sum():,.0f} s",
        soft_wrap=True,
    )
    out.print(outcomes_table(recording.outcomes))
    out.print(results_table(rows, recording.part.flops, median))
