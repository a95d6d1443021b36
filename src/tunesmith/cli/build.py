"""``tunesmith build``: a kernel as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import print_json, print_text
from tunesmith.cli.task_choice import ConfigChoice


def build(
    output: Annotated[Path, Option("-o", "--output", help="The library, such as conv.so.")],
    choice: ConfigChoice,
    *,
    as_json: opt.Json = False,
) -> None:
    """Build the best kernel of a task: a shared library, a C header and a JSON description."""
    triple = choice.task().target.triple  # complain of the words before anything heavy is loaded
    from tunesmith.compiler.libraries import linker_of
    from tunesmith.kernel.files import check_place

    check_place(output)
    linker_of(triple, "a kernel")  # whose complaint is due before anything is built
    problem, config = choice.chosen()
    files = problem.kernel(config).save(output)
    if as_json:
        names = map(str, files)
        found = {"task": problem.key, "sketch": problem.sketch.name, "config": config}
        kinds = ("library", "header", "description")
        print_json({**found, "files": dict(zip(kinds, names, strict=True))})
        return
    for path in files:
        print_text(str(path))
