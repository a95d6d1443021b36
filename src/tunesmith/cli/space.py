"""``tunesmith space``: what a task's tuning chooses from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json
from tunesmith.cli.task_choice import SketchChoice
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.measure.task.problem import TaskProblem
    from tunesmith.space import Config


def space(
    choice: SketchChoice,
    *,
    samples: Annotated[int, Option(help="How many configs to show.")] = 3,
    seed: Annotated[int, Option(help="Seed of the samples.")] = 0,
    as_json: opt.Json = False,
) -> None:
    """Show the parameters of a task's space, its size, and sample configs."""
    import numpy as np

    if seed < 0:
        raise UsageError(f"the seed is {seed}: give 0 or more")
    if samples < 0:
        raise UsageError(f"cannot sample {samples} configs: give 0 or more")
    problems = choice.problems()
    if len(problems) > 1:
        _list_spaces(problems, as_json=as_json)
    else:
        configs = problems[0].space.sample_many(samples, np.random.default_rng(seed))
        _show_space(problems[0], configs, as_json=as_json)


def _list_spaces(problems: Sequence[TaskProblem], *, as_json: bool) -> None:
    if as_json:
        listed = [
            {**problem.describe()["sketch"], "size": problem.space.size} for problem in problems
        ]
        print_json({"task": problems[0].key, "sketches": listed})
        return
    out = console()
    out.print(problems[0].key, soft_wrap=True, markup=False)
    for problem in problems:
        count = len(problem.space.parameters)
        out.print(f"sketch {problem.sketch.name}: {problem.space.size:,} configs")
        out.print(f"  {count} parameters; --sketch {problem.sketch.name} shows them", markup=False)


def _show_space(problem: TaskProblem, samples: Sequence[Config], *, as_json: bool) -> None:
    known = problem.space
    if as_json:
        parameters = [
            {**parameter.to_json(), "cardinality": parameter.cardinality}
            for parameter in known.parameters
        ]
        found: dict[str, Any] = {
            "task": problem.key,
            "sketch": problem.describe()["sketch"],
            "size": known.size,
            "parameters": parameters,
            "constraints": [str(constraint) for constraint in known.constraints],
            "samples": [config.to_json() for config in samples],
        }
        print_json(found)
        return
    from rich.table import Table

    out = console()
    out.print(problem.key, soft_wrap=True, markup=False)
    out.print(f"sketch {problem.sketch.name}: {known.size:,} configs")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("parameter", "kind", "values"):
        table.add_column(heading, style="bold" if heading == "parameter" else None)
    for parameter in known.parameters:
        kind = type(parameter).__name__.lower()
        table.add_row(parameter.name, kind, f"{parameter.cardinality:,}")
    out.print(table)
    for constraint in known.constraints:
        out.print(f"constraint: {constraint}", markup=False)
    for config in samples:
        out.print(f"sample: {config.key}", soft_wrap=True, markup=False)
