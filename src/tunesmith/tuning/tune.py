"""Tuning from Python: the arguments, and what they need."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload, runtime_checkable

from tunesmith.budget import Budget
from tunesmith.errors import UsageError
from tunesmith.measure.local.measurers import LocalMeasurers
from tunesmith.measure.task.portfolio import joined, problems_of
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measure.trial.measurers import HasJob, Measurers
from tunesmith.problem import Measurable, Measurer, MeasureSettings
from tunesmith.progress import Progress
from tunesmith.store import open_store
from tunesmith.task import Task
from tunesmith.transfer.model import GlobalModel
from tunesmith.transfer.of_store import Tell, Transfer, model_for
from tunesmith.tuners import Tuner
from tunesmith.tuners import tuner as tuner_by_name
from tunesmith.tuning.missing_model import usable
from tunesmith.tuning.result import Result
from tunesmith.tuning.run import TuningRun

if TYPE_CHECKING:
    from tunesmith.store import Store

T_co = TypeVar("T_co", covariant=True)


@runtime_checkable
class TunesItself(Protocol[T_co]):
    """What consists of tasks, such as a network: it decides how these share a budget."""

    def tune(
        self,
        tuner: Tuner,
        budget: Budget,
        store: Store,
        *,
        seed: int,
        transfer: Transfer,
        tell: Tell | None,
        settings: MeasureSettings | None,
        measurers: Measurers | None,
        progress: Callable[[Any], None] | None,
    ) -> T_co:
        """Tune the tasks. Raises like ``tune``."""
        ...


@overload
def tune(
    problem: Measurable | Task,
    tuner: str | Tuner | Budget = "auto",
    budget: Budget | None = None,
    *,
    store: Store | str | Path | None = None,
    seed: int = 0,
    fresh: bool = False,
    sketch: str | Iterable[str] | None = None,
    without_sketches: Iterable[str] = (),
    prior: bool = True,
    transfer: Transfer = True,
    tell: Tell | None = None,
    settings: MeasureSettings | None = None,
    measurers: Measurers | None = None,
    progress: Callable[[Progress], None] | None = None,
    late_seconds: float = math.inf,
) -> Result: ...


@overload
def tune(
    problem: TunesItself[T_co],
    tuner: str | Tuner | Budget = "auto",
    budget: Budget | None = None,
    *,
    store: Store | str | Path | None = None,
    seed: int = 0,
    transfer: Transfer = True,
    tell: Tell | None = None,
    settings: MeasureSettings | None = None,
    measurers: Measurers | None = None,
    progress: Callable[[Any], None] | None = None,
) -> T_co: ...


def tune(
    problem: Any,
    tuner: str | Tuner | Budget = "auto",
    budget: Budget | None = None,
    *,
    store: Store | str | Path | None = None,
    seed: int = 0,
    fresh: bool = False,
    sketch: str | Iterable[str] | None = None,
    without_sketches: Iterable[str] = (),
    prior: bool = True,
    transfer: Transfer = True,
    tell: Tell | None = None,
    settings: MeasureSettings | None = None,
    measurers: Measurers | None = None,
    progress: Callable[[Any], None] | None = None,
    late_seconds: float = math.inf,
) -> Any:
    """Search for the fastest config of a problem.

    A run continues what earlier runs of the same problem left in the store: their trials are shown
    to the tuner, count towards ``budget.trials`` and are not repeated, unless ``fresh``. Without a
    ``store`` a task uses the user's store, any other problem none that lasts. Every trial is saved
    as it ends. At the end the best few are measured again in turn, so that noise picks no winner;
    Ctrl-C ends the run without that.

    A task is tuned with all sketches that can schedule it, or those that ``sketch`` names, but none
    of ``without_sketches``; each has a search of its own, and most trials go to those that are
    ahead. With ``prior`` a search begins with configs that the sketch's model of the machine likes,
    and with ``transfer`` that is corrected by a model of other tasks: one of the store's trials if
    it has enough, else the one that ships (``model_for``), or the one that is given or named.
    ``tell`` hears what is learned, and what is wrong with a model; without it that is logged.
    ``measurers`` measure a task, on this machine unless they are given; its records are filed under
    the machine that they name.

    A network (``tunesmith.networks``) is tuned task by task, each for as long as it is worth the
    time. The budget may also be the second argument: ``tune(network, Budget(seconds=600))``.

    The default is measured first. ``budget.seconds`` ends no run that has nothing valid yet: it
    waits for what was begun, and if all of that fails, for a few more; see ``Deadline``. A run that
    is one of several may have only ``late_seconds`` for these. Where the package of the tuner's
    cost model is not installed, a line says so, and the search is random. A line also says where a
    tuner's random start is most of the run.

    Without a ``budget``, which only a network must have, it ends when no config is left, or with
    Ctrl-C. ``settings`` say how trials are measured, ``progress`` is called with a ``Progress``
    again and again, and the same ``seed`` gives the same proposals for the same results at the same
    times.

    Raises ``UsageError`` for what does not exist or cannot be, ``StoreError`` if the store cannot
    be opened, ``MissingDependencyError`` for a tuner that needs a package, such as PyTorch, that is
    not installed, and ``TunesmithError`` if measuring is impossible on this machine.
    """
    if isinstance(tuner, Budget):
        _check_kind("budget", budget, "given once", budget is None)
        budget, tuner = tuner, "auto"
    algorithm = tuner_by_name(tuner) if isinstance(tuner, str) else tuner
    _check_kind("tuner", algorithm, "a name or a Tuner", isinstance(algorithm, Tuner))
    algorithm = usable(algorithm)
    of_sketches = {"sketch": bool(sketch), "without_sketches": bool(without_sketches)}
    if isinstance(problem, TunesItself):
        of_runs = {"fresh": fresh, "prior": not prior, "late_seconds": late_seconds != math.inf}
        _refuse("a single task or problem", {**of_sketches, **of_runs}, problem)
        with contextlib.ExitStack() as stack:
            if measurers is None:  # one server for all tasks
                measurers = stack.enter_context(LocalMeasurers())
            return problem.tune(
                algorithm,
                budget or Budget(),
                _opened(store, stack, lasting=True),
                seed=seed,
                transfer=transfer,
                tell=tell,
                settings=settings,
                measurers=measurers,
                progress=progress,
            )
    is_task = isinstance(problem, Task | HasJob)
    is_problem = isinstance(problem, Task) or hasattr(problem, "alternatives")
    _check_kind("problem", problem, "a Task or a problem (a BaseProblem)", is_problem)
    _check_kind("budget", budget, "a Budget", budget is None or isinstance(budget, Budget))
    has_measurers = measurers is None or isinstance(measurers, Measurers)
    _check_kind("measurers", measurers, "an object with a method measurer", has_measurers)
    if measurers is not None and not is_task:
        raise UsageError(f"measurers are for tasks: {problem!r} measures itself")
    if not isinstance(problem, Task):
        _refuse("a Task", of_sketches, problem)
    with contextlib.ExitStack() as stack:
        if measurers is None and isinstance(problem, Task):
            problem.target.check_measurable()
        if is_task and measurers is None:
            measurers = stack.enter_context(LocalMeasurers())
        if isinstance(problem, Task):
            names = [sketch] if isinstance(sketch, str) else sketch or ()
            problem = joined(problems_of(problem, names, without_sketches))
        settings = settings or MeasureSettings()
        measurer: Measurer  # before the rest: it may need its time to get ready
        if measurers is not None and isinstance(problem, HasJob):
            measurer = measurers.measurer(problem.job(settings))
        else:
            measurer = problem.measurer(settings)
        stack.enter_context(contextlib.closing(measurer))
        store = _opened(store, stack, lasting=is_task)
        run = TuningRun(
            problem,
            measurer,
            algorithm,
            budget or Budget(),
            store=store,
            seed=seed,
            progress=progress,
            late_seconds=late_seconds,
            find_model=partial(_model, transfer, problem, store, tell),
        )
        return run.go(fresh=fresh, prior=prior)


def _refuse(what: str, given: Mapping[str, bool], problem: object) -> None:
    """Raises ``UsageError`` for an argument that is given though it is for something else."""
    for name, is_given in given.items():
        if is_given:
            raise UsageError(
                f"{name} is for {what}, not for a {type(problem).__name__}: leave it out"
            )


def _model(
    transfer: Transfer, problem: Measurable, store: Store, tell: Tell | None
) -> GlobalModel | None:
    """The model of other tasks, if there are any: a function or a command has none."""
    first = problem.alternatives[0]
    if not isinstance(first, TaskProblem):
        return None
    return model_for(store, first.task.target, transfer, tell, key=problem.key)


def _opened(
    store: Store | str | Path | None, stack: contextlib.ExitStack, *, lasting: bool
) -> Store:
    """The store that was given; without one the user's if it is to be ``lasting``, or a new one."""
    if store is None or isinstance(store, str | Path):
        chosen = "sqlite://" if store is None and not lasting else store
        return stack.enter_context(open_store(chosen))
    return store


def _check_kind(what: str, value: object, expected: str, fits: bool) -> None:
    if not fits:
        raise UsageError(f"{what} must be {expected}, not {value!r}")
