"""What a task gets without any trial: the config that the models think fastest."""

from __future__ import annotations

from collections.abc import Sequence

from tunesmith.errors import InstantiationError
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.space import Config
from tunesmith.transfer.model import GlobalModel, estimates_of
from tunesmith.tuners.starts import Start, StartFinder, diverse
from tunesmith.tuners.view import View

# Configs that are estimated for a task, shared among its sketches.
_SAMPLES = 1000

# How many of the best of a sketch are looked at, in case that one makes no program.
TRIED = 3


def estimated(
    problems: Sequence[TaskProblem], model: GlobalModel | None, seed: int = 0
) -> list[tuple[TaskProblem, list[Start]]]:
    """The problems of a task, each with the configs that were estimated in search of the best."""
    finder = StartFinder(samples=_SAMPLES // len(problems))
    return [
        (problem, finder.estimated(View(problem.space, estimates_of(problem, model)), seed))
        for problem in problems
    ]


def favourite(
    problems: Sequence[TaskProblem], model: GlobalModel | None, seed: int = 0
) -> tuple[TaskProblem, Config]:
    """The config of a task that is thought fastest, with the problem of its sketch; the default of
    the first sketch where none has estimates, or none of those tried makes a program."""
    tried = [
        (start.estimate, problem, start.config)
        for problem, starts in estimated(problems, model, seed)
        for start in diverse(starts, TRIED)
    ]
    for _, problem, config in sorted(tried, key=lambda each: each[0]):
        try:
            problem.program(config)
        except InstantiationError:
            continue
        return problem, config
    return problems[0], problems[0].default
