"""Which program each task of a network gets: the best of the store, else the model's pick."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tunesmith.measure.task.portfolio import problems_of
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.space import Config
from tunesmith.store import Store
from tunesmith.task import Task
from tunesmith.tuners.view import View
from tunesmith.tuning.starts import StartFinder

# Configs that are estimated for a task, shared among its sketches.
_SAMPLES = 1000


class Origin(StrEnum):
    """Where a choice is from."""

    STORE = "store"
    MODEL = "model"
    DEFAULT = "default"


@dataclass(frozen=True)
class Choice:
    """A program of a task: a sketch's problem and a config.

    ``seconds`` of a call are measured if ``origin`` is the store, else the model's estimate; None
    for a default, of which nothing is known.
    """

    problem: TaskProblem
    config: Config
    seconds: float | None
    origin: Origin


def selected(
    tasks: Iterable[Task],
    store: Store | None,
    *,
    seed: int = 0,
    say: Callable[[Task], None] = lambda _: None,
) -> Mapping[Task, Choice]:
    """A choice for each task; ``say`` hears of each before it is made.

    Raises ``UsageError`` if no sketch can schedule a task.
    """
    found: dict[Task, Choice] = {}
    for task in tasks:
        say(task)
        problems = problems_of(task)
        stored = None if store is None else _stored(problems, store)
        found[task] = stored or _picked(problems, seed)
    return found


def _stored(problems: tuple[TaskProblem, ...], store: Store) -> Choice | None:
    by_sketch = {(it.sketch.name, it.sketch.version): it for it in problems}
    record = store.best(problems[0].key, among=by_sketch)
    if record is None:
        return None
    problem = by_sketch[record.sketch, record.sketch_version]
    return Choice(problem, record.config, record.measurement.seconds, Origin.STORE)


def _picked(problems: tuple[TaskProblem, ...], seed: int) -> Choice:
    """What the sketches' models of the machine think fastest."""
    finder = StartFinder(samples=_SAMPLES // len(problems))
    best: Choice | None = None
    for problem in problems:
        for start in finder.find(View(problem.space, problem.estimates), 1, seed):
            if best is None or best.seconds is None or start.estimate < best.seconds:
                best = Choice(problem, start.config, start.estimate, Origin.MODEL)
    return best or Choice(problems[0], problems[0].default, None, Origin.DEFAULT)
