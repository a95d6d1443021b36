"""The options that name a program to evolve, and its tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from tunesmith.cli.evolve.loading import listed, load_program, load_tests
from tunesmith.cli.task_choice import ConfigChoice
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.evolve.evaluation.harness import ErrorOf
    from tunesmith.evolve.evaluation.subject import Evolvable

Chosen = tuple["Evolvable", Iterable[Any], Iterable[Any], "ErrorOf | None"]
"""A program, its tests, those held out, and the function for the error if there is one."""


@dataclass(frozen=True, kw_only=True)
class ProgramChoice(ConfigChoice):
    """A file with a program, or a task whose best kernel is evolved."""

    operator: Annotated[
        str | None,
        Argument(
            metavar="PROGRAM",
            help="FILE.py:FUNCTION for a Numba function, FILE.ll, or FILE.mlir; with --from-best "
            "an operator and its options.",
            show_default=False,
        ),
    ] = None
    from_best: Annotated[bool, Option("--from-best", help="Evolve the best kernel of a task.")] = (
        False
    )

    def subject(self, test: Path | None, entry: str | None) -> Chosen:
        """What to evolve. Raises ``UsageError`` for words that make no sense."""
        if self.from_best:
            return self._tuned(test, entry)
        if self.operator is None or self.operator.startswith("-"):
            raise UsageError("name a program: FILE.py:FUNCTION, FILE.ll, FILE.mlir or --from-best")
        if self.context.args:
            raise UsageError(
                f"no such option: {self.context.args[0]} (see 'tunesmith evolve --help')"
            )
        if self.layer is not None or self.config is not None:
            raise UsageError("--layer and --config name a task: they go with --from-best")
        of_tasks = {
            "--target": None if self.target == "cpu" else self.target,
            "--arch": self.arch,
            "--mcpu": self.mcpu,
            "--cores": self.cores,
            "--triple": self.triple,
            "--sketch": self.sketch,
            "--model": self.model,
        }
        for option, given in of_tasks.items():
            if given is not None:
                raise UsageError(f"{option} is about a task: it goes with --from-best")
        harness = load_tests(test)
        program = load_program(self.operator, entry)
        heldout = listed(harness, "heldout") or ()
        tests = listed(harness, "tests") or ()
        return program, tests, heldout, getattr(harness, "error", None)

    def _tuned(self, test: Path | None, entry: str | None) -> Chosen:
        if test is not None or entry is not None:
            raise UsageError("a tuned kernel has tests and an entry of its own: leave them out")
        problem, config = self.chosen()
        from tunesmith.evolve.tuned import tuned_kernel

        program, (first, second) = tuned_kernel(problem.kernel(config))
        return program, [first], [second], None
