"""Which programs a task of a network may get: the best of the store, else the model's picks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from tunesmith.errors import InstantiationError
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measurement import Outcome
from tunesmith.sketches.tir.weights import WEIGHT, has_constant_weights, prepared_weights
from tunesmith.space import Config
from tunesmith.store import Store
from tunesmith.task import Task
from tunesmith.transfer.favourite import TRIED, estimated
from tunesmith.transfer.model import GlobalModel
from tunesmith.tuners.starts import Start, diverse


class Origin(StrEnum):
    """Where a choice is from."""

    STORE = "store"
    MODEL = "model"
    DEFAULT = "default"


@dataclass(frozen=True)
class Choice:
    """A program of a task: a sketch's problem and a config.

    ``seconds`` of a call are measured if ``origin`` is the store, else the model's estimate; None
    for a default, of which nothing is known. ``weight_bytes`` is what constant weights take as the
    program reads them, and None where that is not known yet; ``laid_out`` is whether it reads other
    memory than the model's.
    """

    problem: TaskProblem
    config: Config
    seconds: float | None
    origin: Origin
    weight_bytes: int | None = None
    laid_out: bool = False

    def weighed(self) -> Choice:
        """The same with its ``weight_bytes``. Raises ``InstantiationError`` like a program."""
        size, laid_out = weights_as_read(self.problem, self.config)
        return replace(self, weight_bytes=size, laid_out=laid_out)


def stored(task: Task, store: Store) -> list[Choice]:
    """The best of each sketch that the store has valid trials of; not weighed yet.

    None of a task of which only a default was measured: a run begins with it, as the baseline, and
    it is slow.
    """
    valid, found = 0, []
    for problem in problems_of(task):
        sketch = (problem.sketch.name, problem.sketch.version)
        record = store.best(problem.key, among=[sketch])
        if record is not None:
            seconds = record.measurement.seconds
            found.append(Choice(problem, record.config, seconds, Origin.STORE))
            valid += store.outcomes(
                problem.key, sketch=problem.sketch.name, sketch_version=problem.sketch.version
            )[Outcome.NO_ERROR]
    if valid == 1 and found[0].config == found[0].problem.default:
        return []
    return found


def defaults(task: Task) -> list[Choice]:
    """The default of each sketch; not weighed yet."""
    return [Choice(it, it.default, None, Origin.DEFAULT) for it in problems_of(task)]


def picked(
    problems: Sequence[TaskProblem], seed: int, model: GlobalModel | None = None
) -> list[Choice]:
    """What the sketches' estimates say is fastest, corrected by a model, all weighed.

    Without constant weights these are a few configs of each sketch. With such each sketch has its
    best config, the best with smaller weights where those come in several sizes, and one that reads
    the weights as they are if there is one: tasks can share these.
    """
    found: list[Choice] = []
    for problem, starts in estimated(problems, model, seed):
        found += _picks(problem, starts)
    return found


def pick(task: Task, seed: int = 0, model: GlobalModel | None = None) -> Choice:
    """The program that is thought fastest for the task alone; the default of the first sketch where
    none has estimates."""
    choices = picked(problems_of(task), seed, model)
    return min(choices, key=lambda it: it.seconds or 0.0) if choices else defaults(task)[0]


def _picks(problem: TaskProblem, starts: Sequence[Start]) -> list[Choice]:
    tried = diverse(starts, TRIED)
    if not has_constant_weights(problem.task.operator):
        return [_pick(problem, start).weighed() for start in tried]
    for start in tried:
        try:
            best = _pick(problem, start).weighed()
        except InstantiationError:
            continue
        smaller = [_pick(problem, it).weighed() for it in _smaller(problem, starts, best)]
        return [best, *smaller, *_plain(problem, tried, best)]
    return []


def _plain(problem: TaskProblem, tried: Sequence[Start], best: Choice) -> list[Choice]:
    """The best of these starts that reads weights as they are, at last the default; none if that
    lays them out, as then all configs of a sketch do."""
    estimate = problem.estimate(problem.default)
    if not best.laid_out or estimate is None:
        return []
    default = Choice(problem, problem.default, estimate, Origin.MODEL).weighed()
    if default.laid_out:
        return []
    for start in tried:
        with suppress(InstantiationError):
            choice = _pick(problem, start).weighed()
            if not choice.laid_out:
                return [choice]
    return [default]


def _pick(problem: TaskProblem, start: Start) -> Choice:
    return Choice(problem, start.config, start.estimate, Origin.MODEL)


def _smaller(problem: TaskProblem, starts: Sequence[Start], best: Choice) -> list[Start]:
    """The best start of each size of weights that none is faster with fewer bytes; only those
    smaller than the best choice's, and only if the sketch tells sizes without making programs."""
    task, least = problem.task, best.weight_bytes
    if not least:
        return []
    found = []
    for start in sorted(starts, key=lambda start: start.estimate):
        size = problem.sketch.weight_bytes(task.operator, task.target, start.config)
        if size is None:
            return []
        if size < least:
            least = size
            found.append(start)
    return found


def weights_as_read(problem: TaskProblem, config: Config) -> tuple[int, bool]:
    """The bytes of constant weights as the program of a config reads them, 0 if there are none; and
    whether they are laid out for it.

    Raises ``InstantiationError`` where there is no such program.
    """
    task = problem.task
    if not has_constant_weights(task.operator):
        return 0, False
    known = problem.sketch.weight_bytes(task.operator, task.target, config)
    if known is not None:
        return known, True
    prepared = prepared_weights(problem.program(config))
    return (prepared or task.operator.arguments[WEIGHT]).bytes, prepared is not None
