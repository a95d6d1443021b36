"""``tunesmith tune --build-only``: what compiles for a target, and what it takes of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tunesmith.cli.output import console, print_json, remark, remarks
from tunesmith.errors import TunesmithError

if TYPE_CHECKING:
    from tunesmith.cli.task_choice import TaskChoice
    from tunesmith.cli.tune import SearchOptions
    from tunesmith.measure.local.build_result import BuildResult
    from tunesmith.measure.task.building import Builds
    from tunesmith.problem import MeasureSettings

# What a run without any limit builds.
DEFAULT_COUNT = 100


def build_only(
    choice: TaskChoice, options: SearchOptions, settings: MeasureSettings, *, as_json: bool
) -> None:
    """Build a sample of a task's programs and tell what came of it.

    Raises ``TunesmithError`` if not a single one could be built.
    """
    from tunesmith.cuda.compiler import has_nvcc
    from tunesmith.measure.task.building import build_sample
    from tunesmith.reports.build_progress import BuildProgress

    count = DEFAULT_COUNT if options.trials is None else options.trials
    problems = choice.problems()
    with BuildProgress(remarks(), count) as live:
        builds = build_sample(
            problems,
            count,
            seconds=options.seconds,
            seed=options.seed or 0,
            settings=settings,
            progress=live.update,
        )
    if as_json:
        print_json(_to_json(builds))
    else:
        _print(builds)
    if choice.task().target.kind == "cuda" and not has_nvcc():
        remark("there is no nvcc, the CUDA compiler, here: programs end as CUDA C++")
    if not any(one.built for one in builds.all):
        ((reason, _),) = Counter(one.message for one in builds.all).most_common(1)
        raise TunesmithError(f"not a single config could be built, most often because: {reason}")


def _print(builds: Builds) -> None:
    from tunesmith.measurement import Outcome
    from tunesmith.reports import format as fmt
    from tunesmith.reports.tables import outcomes_table, resources_table

    out = console()
    out.print(builds.task, soft_wrap=True, markup=False)
    took = fmt.duration(builds.seconds)
    out.print(f"{len(builds.all):,} configs tried in {took}; no program was run")
    out.print(outcomes_table(builds.outcomes, {Outcome.NO_ERROR: "there is a program"}))
    resources = {
        sketch: [one.resources for one in results if one.resources is not None]
        for sketch, results in builds.results.items()
    }
    known = {sketch: programs for sketch, programs in resources.items() if programs}
    if known:
        out.print(resources_table(known))


def _to_json(builds: Builds) -> dict[str, Any]:
    return {
        "task": builds.task,
        "seconds": builds.seconds,
        "outcomes": {outcome.name: count for outcome, count in builds.outcomes.items()},
        "builds": [
            {"sketch": sketch, **_row(one)}
            for sketch, results in builds.results.items()
            for one in results
        ],
    }


def _row(one: BuildResult) -> dict[str, Any]:
    return {
        "config": one.config.to_json(),
        "outcome": one.outcome.name,
        "message": one.message,
        "build_seconds": one.seconds,
        "program_hash": one.program_hash,
        "resources": one.resources,
    }
