"""``tunesmith show``: a program, in any of its forms."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import print_json
from tunesmith.cli.task_choice import ConfigChoice
from tunesmith.errors import UsageError, unknown_name

# The forms of a program, and what a kernel calls its sources.
FORMS = {"tvmscript": "", "cuda": "", "llvm": "ll", "asm": "asm"}


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
    if form not in FORMS:
        raise unknown_name("form", form, FORMS)
    if choice.task().target.kind == "cuda" and form in ("llvm", "asm"):
        raise UsageError(f"a program for a GPU is not shown as {form}: give --form cuda")
    problem, chosen = choice.chosen()
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
