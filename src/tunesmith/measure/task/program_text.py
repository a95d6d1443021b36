"""A program in any of its forms, as text."""

from __future__ import annotations

from typing import Final

from tunesmith.errors import UsageError, unknown_name
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.space import Config

# What a kernel calls its sources, by the names that users give.
FORMS: Final = {"tvmscript": "", "cuda": "", "llvm": "ll", "asm": "asm"}


def check_form(form: str, target_kind: str) -> None:
    """Raise ``UsageError`` for an unknown form, and one that programs for a target do not have."""
    if form not in FORMS:
        raise unknown_name("form", form, FORMS)
    if target_kind == "cuda" and form in ("llvm", "asm"):
        raise UsageError(f"a program for a GPU is not shown as {form}: give --form cuda")


def program_text(problem: TaskProblem, config: Config, form: str, *, whole: bool = False) -> str:
    """The program of a config as TVMScript, its code for a GPU, its LLVM-IR or the assembly of its
    hot loop, or with ``whole`` all of that.

    Raises ``UsageError`` like `check_form`, ``InstantiationError`` where the config cannot be
    scheduled, and ``TunesmithError`` if the compiler fails.
    """
    check_form(form, problem.task.target.kind)
    if form == "tvmscript":
        return str(problem.program(config).script())
    if form == "cuda":
        return problem.cuda_source(config)
    hot = form == "asm" and not whole
    text = problem.kernel(config).source(FORMS[form], "main" if hot else None)
    if hot:
        from tunesmith.kernel.assembly import hot_loop

        return hot_loop(text)
    return text
