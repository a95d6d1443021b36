"""``tunesmith build``: a kernel as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json
from tunesmith.cli.task_choice import TaskChoice, chosen_config


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("build", context_settings=opt.PASS_OPERATOR_OPTIONS)(build)


def build(
    context: typer.Context,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The library, such as conv.so.")],
    operator: opt.OperatorName = None,
    layer: opt.Layer = None,
    target: opt.Device = "cpu",
    mcpu: opt.Processor = None,
    cores: opt.Cores = None,
    arch: opt.Arch = None,
    sketch: opt.SketchName = None,
    store: opt.StoreLocation = None,
    config: opt.ConfigText = None,
    as_json: opt.Json = False,
) -> None:
    """Build the best kernel of a task: a shared library, a C header and a JSON description."""
    choice = TaskChoice(operator, layer, opt.words_of(context), target, mcpu, cores, arch, sketch)
    choice.task()  # complain about the words before anything heavy is loaded
    problem, chosen = chosen_config(choice.problems(), store, config)
    library, header, description = problem.kernel(chosen).save(output)
    if as_json:
        files = {"library": str(library), "header": str(header), "description": str(description)}
        found = {"task": problem.key, "sketch": problem.sketch.name, "config": chosen}
        print_json({**found, "files": files})
        return
    for path in (library, header, description):
        console().print(str(path), soft_wrap=True, markup=False)
