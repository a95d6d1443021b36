"""``tunesmith show``: a program, in any of its forms."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import print_json
from tunesmith.cli.task_choice import ConfigChoice


def show(
    choice: ConfigChoice,
    *,
    form: Annotated[str, Option(help="What to show: tvmscript, cuda, llvm or asm.")] = "tvmscript",
    whole: Annotated[
        bool, Option("--whole", help="All of the assembly, not the hot loop alone.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Show a program: as TVMScript, its code for a GPU, or its LLVM-IR or the assembly of its hot
    loop."""
    from tunesmith.measure.task.program_text import check_form, program_text

    check_form(form, choice.task().target.kind)
    problem, chosen = choice.chosen()
    text = program_text(problem, chosen, form, whole=whole)
    if as_json:
        found = {"task": problem.key, "sketch": problem.sketch.name, "config": chosen}
        print_json({**found, "form": form, "text": text})
    else:
        print(text)
