"""The kernels of a network: chosen within a limit of memory, and compiled in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tunesmith.errors import InstantiationError, TunesmithError, describe
from tunesmith.measure.processes.pool import FailedCall, WorkerPool
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.networks.build.contenders import contenders
from tunesmith.networks.build.growth import Option, smallest
from tunesmith.networks.build.kernels import Code, LayerKernel, layer_kernel
from tunesmith.networks.build.selection import Choice, Origin, defaults, picked, stored
from tunesmith.networks.build.weights_limit import MAX_WEIGHTS_GROWTH, Use, WeightsLimit
from tunesmith.space import Config
from tunesmith.store import Store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.model import GlobalModel

# How long choosing or compiling one program may take, in seconds. It takes one or two on a core of
# its own.
_TIMEOUT = 120.0

InPlace = Callable[[Mapping[Task, Sequence[LayerKernel]]], Mapping[Task, Sequence[float]]]

_COMPARING = "comparing programs in the network"


@dataclass(frozen=True)
class BuildState:
    """How far a build is: ``doing`` says what is done for ``done`` of ``total`` tasks, last for the
    one that ``label`` describes."""

    doing: str
    done: int
    total: int
    label: str = ""


@dataclass(frozen=True)
class HowToBuild:
    """What a build goes by.

    ``tell`` hears how far it is, and ``say`` gets a line about each program that fails. With
    ``in_place`` up to ``contenders`` programs of each task are compiled, and those are taken that
    are fastest by the seconds that it returns for all layers of each task. ``model`` has learned
    from other tasks.
    """

    store: Store | None = None
    seed: int = 0
    max_growth: float = MAX_WEIGHTS_GROWTH
    tell: Callable[[BuildState], None] = lambda _: None
    say: Callable[[str], None] = lambda _: None
    timeout: float = _TIMEOUT
    contenders: int = 1
    in_place: InPlace | None = None
    model: GlobalModel | None = None


def kernel_name(number: int, task: Task) -> str:
    """The name of the function of a network's ``number``-th task."""
    return f"layer{number}_{task.operator.name}"


def compiled_kernels(
    uses: Mapping[Task, Use],
    constant_bytes: int,
    target: Target,
    how: HowToBuild,
    first_number: int = 0,
) -> Mapping[Task, LayerKernel]:
    """A kernel for each task, with the best programs of the store, and the model's picks for tasks
    that it does not know.

    ``constant_bytes`` are those of all constants of the network. The names of the kernels count
    from ``first_number``. If a program cannot be compiled,
    or the compiler crashes or hangs, the task gets the next best one, at last a sketch's default.
    Raises ``UsageError`` if no sketch can schedule a task, ``TunesmithError`` if no program of a
    task can be compiled.
    """
    if not uses:
        return {}
    cores = target.core_count if target.triple is None else Target().core_count  # this machine's
    workers = min(cores, len(uses))
    with WorkerPool(workers, how.timeout) as pool:
        names = {task: kernel_name(number, task) for number, task in enumerate(uses, first_number)}
        return _Programs(uses, constant_bytes, target, how, names=names, pool=pool).kernels()


class _Programs:
    def __init__(
        self,
        uses: Mapping[Task, Use],
        constant_bytes: int,
        target: Target,
        how: HowToBuild,
        *,
        names: Mapping[Task, str],
        pool: WorkerPool,
    ) -> None:
        self._uses = uses
        self._names = names
        self._target = target
        self._how = how
        self._pool = pool
        self._options: dict[Task, list[Choice]] = {task: [] for task in uses}
        self._asked: dict[Task, set[Origin]] = {task: set() for task in uses}
        self._compiled: dict[Task, dict[Choice, LayerKernel]] = {task: {} for task in uses}
        self._failures: dict[Task, str] = {}
        self._bad: set[tuple[Task, str, Config]] = set()
        self._limit = WeightsLimit(uses, constant_bytes, target, how.max_growth)
        self._warned = False
        # Seconds of all layers of a task in a call, measured in the network.
        self._in_place: dict[tuple[Task, Choice], float] = {}

    def kernels(self) -> Mapping[Task, LayerKernel]:
        self._fill()
        if self._how.in_place is not None and self._how.contenders > 1:
            self._compare(self._how.in_place)
        while True:
            chosen = self._chosen()
            missing = {
                task: choice
                for task, choice in chosen.items()
                if choice not in self._compiled[task]
            }
            if not missing:
                return {task: self._compiled[task][choice] for task, choice in chosen.items()}
            self._compile(missing)
            self._fill()

    # -- comparing in the network ----------------------------------------------------------------

    def _compare(self, in_place: InPlace) -> None:
        """Compile the best few of each task, and keep as options what was timed in the network."""
        self._ask(Origin.MODEL, self._uses)
        costs = {
            task: dict(zip(options, each, strict=True))
            for (task, options), each in zip(self._options.items(), self._costs(), strict=True)
        }
        chosen = contenders(costs, self._how.contenders)
        for turn in range(self._how.contenders):
            self._compile({task: each[turn] for task, each in chosen.items() if turn < len(each)})
        compiled = {task: list(kernels.items()) for task, kernels in self._compiled.items()}
        if not all(compiled.values()):
            return  # a task whose contenders all failed: it gets others, uncompared
        count = max(map(len, compiled.values()))
        self._how.tell(BuildState(_COMPARING, 0, count))
        seconds = in_place({task: [it for _, it in each] for task, each in compiled.items()})
        self._how.tell(BuildState(_COMPARING, count, count))
        for task, each in compiled.items():
            self._options[task] = [choice for choice, _ in each]
            for (choice, _), total in zip(each, seconds[task], strict=True):
                self._in_place[task, choice] = total

    # -- what there is to choose from ------------------------------------------------------------

    def _fill(self) -> None:
        """Find choices for tasks that have none. Raises ``TunesmithError`` where there are none."""
        for origin in Origin:
            self._ask(origin, [task for task, options in self._options.items() if not options])
        for task, options in self._options.items():
            if not options:
                reason = self._failures.get(task, "no sketch has a config for it")
                raise TunesmithError(f"{task.operator.label} cannot be compiled: {reason}")

    def _ask(self, origin: Origin, tasks: Iterable[Task]) -> None:
        """Add the choices of an origin for tasks, unless that was done before."""
        new = [task for task in tasks if origin not in self._asked[task]]
        for task in new:
            self._asked[task].add(origin)
        if origin is Origin.MODEL:
            self._pick(new)
        elif origin is Origin.DEFAULT:
            self._weigh({task: defaults(task) for task in new})
        elif self._how.store is not None:
            self._weigh({task: stored(task, self._how.store) for task in new})

    def _pick(self, tasks: Sequence[Task]) -> None:
        calls = [(problems_of(task), self._how.seed, self._how.model) for task in tasks]
        for done, (number, found) in enumerate(self._pool.map(picked, calls), 1):
            task = tasks[number]
            self._tell("choosing", done, len(tasks), task)
            if isinstance(found, FailedCall):
                self._failures[task] = found.reason
                self._how.say(f"{task.operator.label}: the model has no pick: {found.reason}")
                continue
            # Measured seconds and estimates do not compare: no pick is before what was measured.
            # Those that this makes equal stay in the model's order.
            known = [choice.seconds for choice in self._options[task] if choice.seconds is not None]
            least = min(known, default=0.0)
            self._options[task] += [
                replace(choice, seconds=max(least, choice.seconds or 0.0))
                for choice in sorted(found, key=lambda it: it.seconds or 0.0)
                if _identity(choice) not in self._bad
            ]

    def _weigh(self, found: Mapping[Task, Sequence[Choice]]) -> None:
        """Add choices, with the bytes of their weights."""
        every = [
            (task, choice)
            for task, choices in found.items()
            for choice in choices
            if _identity(choice) not in self._bad
        ]
        results = dict(self._pool.map(Choice.weighed, [(choice,) for _, choice in every]))
        for number, (task, choice) in enumerate(every):
            self._add(task, choice, results[number])

    def _add(self, task: Task, choice: Choice, weighed: Choice | FailedCall) -> None:
        if isinstance(weighed, FailedCall):
            self._failed(task, choice, weighed.reason)
        else:
            self._options[task].append(weighed)

    # -- choosing --------------------------------------------------------------------------------

    def _chosen(self) -> Mapping[Task, Choice]:
        found = self._limit.fastest(self._costs())
        if found is None:
            self._ask(Origin.MODEL, self._uses)
            found = self._limit.fastest(self._costs())
        if found is None:
            costs = self._costs()
            found = smallest(costs)
            if not self._warned:
                self._how.say(self._limit.exceeded(costs, found))
            self._warned = True
        return {
            task: options[number]
            for (task, options), number in zip(self._options.items(), found, strict=True)
        }

    def _costs(self) -> list[list[Option]]:
        return [
            [
                self._limit.cost(task, choice, self._in_place.get((task, choice)))
                for choice in options
            ]
            for task, options in self._options.items()
        ]

    # -- compiling -------------------------------------------------------------------------------

    def _compile(self, chosen: Mapping[Task, Choice]) -> None:
        tasks = list(chosen)
        for done, (number, result) in enumerate(self._codes(chosen), 1):
            task = tasks[number]
            choice = chosen[task]
            self._tell("compiling", done, len(tasks), task)
            if isinstance(result, FailedCall):
                self._options[task].remove(choice)
                self._failed(task, choice, result.reason)
            elif isinstance(result, LayerKernel):
                self._compiled[task][choice] = result
            else:
                self._compiled[task][choice] = result.kernel(self._names[task], choice)

    def _codes(self, chosen: Mapping[Task, Choice]) -> Iterable[tuple[int, Any]]:
        """By number, as they come: the code or kernel of each choice, or why there is none."""
        calls = [(self._names[task], choice) for task, choice in chosen.items()]
        if self._target.kind == "cpu":
            return self._pool.map(Code.of, calls)
        return enumerate(self._compiled_here(*call) for call in calls)

    def _compiled_here(self, name: str, choice: Choice) -> LayerKernel | FailedCall:
        try:
            return layer_kernel(name, choice)
        except (InstantiationError, TunesmithError) as error:
            return FailedCall(describe(error))

    # -- progress --------------------------------------------------------------------------------

    def _tell(self, doing: str, done: int, total: int, task: Task) -> None:
        self._how.tell(BuildState(doing, done, total, task.operator.label))

    def _failed(self, task: Task, choice: Choice, reason: str) -> None:
        self._bad.add(_identity(choice))
        self._failures[task] = reason
        self._how.say(
            f"{task.operator.label}: {choice.problem.sketch.name} fails, the next best program is "
            f"tried: {reason}"
        )


def _identity(choice: Choice) -> tuple[Task, str, Config]:
    """What two choices of the same program have in common."""
    return choice.problem.task, choice.problem.sketch.name, choice.config
