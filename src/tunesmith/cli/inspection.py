"""``tunesmith operators``, ``tuners``, ``sketches``, ``space`` and ``show``: what there is, how it
looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json
from tunesmith.cli.task_choice import TaskChoice, chosen_config
from tunesmith.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from tunesmith.measure.task.problem import TaskProblem
    from tunesmith.space import Config


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("operators")(operators)
    app.command("tuners")(tuners)
    app.command("sketches")(sketches)
    app.command("space", context_settings=opt.PASS_OPERATOR_OPTIONS)(space)
    app.command("show", context_settings=opt.PASS_OPERATOR_OPTIONS)(show)


def operators(
    name: Annotated[str | None, typer.Argument(help="Only this one, with its options.")] = None,
    as_json: opt.Json = False,
) -> None:
    """List the operators and their options, and the named layers."""
    from tunesmith.operators import describe_operators, operator_class, workload_names

    if name is not None:
        operator_class(name)
    rows = [row for row in describe_operators() if name in (None, row.name)]
    if as_json:
        print_json({"operators": [asdict(row) for row in rows], "layers": list(workload_names())})
        return
    from rich.table import Table

    out = console()
    for row in rows:
        table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
        for option in row.options:
            names = ", ".join(_spelling(text) for text in (option.name, *option.aliases))
            default = "required" if option.default is None else option.default
            table.add_row(names, default, option.meaning)
        out.print(f"{row.name}: {row.summary}", style="bold", markup=False)
        out.print("  takes " + "; ".join(row.arguments), markup=False)
        out.print(table)
    if name is None:
        out.print("layers: " + ", ".join(workload_names()), markup=False)


def _spelling(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def tuners(as_json: opt.Json = False) -> None:
    """List the tuners and their options."""
    from tunesmith.tuners import describe_tuners

    rows = describe_tuners()
    if as_json:
        listed = [
            {
                "name": row.name,
                "package": row.package,
                "summary": row.summary,
                "options": [
                    {
                        "name": option.name,
                        "type": option.type_name,
                        "default": option.default,
                        "meaning": option.meaning,
                    }
                    for option in row.options
                ],
            }
            for row in rows
        ]
        print_json({"tuners": listed})
        return
    out = console()
    for row in rows:
        out.print(f"{row.name}: {row.summary}", style="bold", markup=False)
        for option in row.options:
            out.print(
                f"  {option.name}={option.default}  {option.meaning} ({option.type_name})",
                markup=False,
            )


def sketches(as_json: opt.Json = False) -> None:
    """List the sketches: the ways to schedule an operator."""
    from tunesmith.sketches import describe_sketches

    rows = describe_sketches()
    if as_json:
        print_json({"sketches": [asdict(row) for row in rows]})
        return
    for row in rows:
        console().print(f"{row.name}: {row.summary}", soft_wrap=True, markup=False)


def space(
    context: typer.Context,
    *,
    operator: opt.OperatorName = None,
    layer: opt.Layer = None,
    target: opt.Device = "cpu",
    mcpu: opt.Processor = None,
    cores: opt.Cores = None,
    arch: opt.Arch = None,
    sketch: opt.SketchName = None,
    samples: Annotated[int, typer.Option("--samples", help="How many configs to show.")] = 3,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the samples.")] = 0,
    as_json: opt.Json = False,
) -> None:
    """Show the parameters of a task's space, its size, and sample configs."""
    import numpy as np

    if seed < 0:
        raise UsageError(f"the seed is {seed}: give 0 or more")
    if samples < 0:
        raise UsageError(f"cannot sample {samples} configs: give 0 or more")
    choice = TaskChoice(operator, layer, opt.words_of(context), target, mcpu, cores, arch, sketch)
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


# The forms of a program, and what a kernel calls its sources.
FORMS = {"tvmscript": "", "cuda": "", "llvm": "ll", "asm": "asm"}


def show(
    context: typer.Context,
    *,
    operator: opt.OperatorName = None,
    layer: opt.Layer = None,
    target: opt.Device = "cpu",
    mcpu: opt.Processor = None,
    cores: opt.Cores = None,
    arch: opt.Arch = None,
    sketch: opt.SketchName = None,
    store: opt.StoreLocation = None,
    config: opt.ConfigText = None,
    form: Annotated[
        str, typer.Option("--form", help="What to show: tvmscript, cuda, llvm or asm.")
    ] = "tvmscript",
    whole: Annotated[
        bool, typer.Option("--whole", help="All of the assembly, not the hot loop alone.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Show a program: as TVMScript, its code for a GPU, or its LLVM-IR or the assembly of its hot
    loop."""
    if form not in FORMS:
        raise unknown_name("form", form, FORMS)
    choice = TaskChoice(operator, layer, opt.words_of(context), target, mcpu, cores, arch, sketch)
    if choice.task().target.kind == "cuda" and form in ("llvm", "asm"):
        raise UsageError(f"a program for a GPU is not shown as {form}: give --form cuda")
    problem, chosen = chosen_config(choice.problems(), store, config)
    if form == "tvmscript":
        text = str(problem.program(chosen).script())
    elif form == "cuda":
        text = problem.cuda_source(chosen)
    else:
        hot = form == "asm" and not whole
        text = problem.kernel(chosen).source(FORMS[form], "main" if hot else None)
        if hot:
            from tunesmith.kernel.assembly import hot_loop

            text = hot_loop(text)
    if as_json:
        found = {"task": problem.key, "sketch": problem.sketch.name, "config": chosen}
        print_json({**found, "form": form, "text": text})
    else:
        print(text)
