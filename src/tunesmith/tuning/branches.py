"""The searches of a run, one a sketch, and who of them proposes next."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from tunesmith.candidate import as_candidate, candidate, of_plain_config, sketch_and_config
from tunesmith.errors import SpaceError
from tunesmith.measure.task.portfolio import Portfolio
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measurement import Measurement
from tunesmith.problem import Measurable, Problem
from tunesmith.space import Config
from tunesmith.tuners import Tuner
from tunesmith.tuners.tuner import Search
from tunesmith.tuning.bandit import Bandit
from tunesmith.tuning.standing import Standing
from tunesmith.tuning.starts import StartFinder

if TYPE_CHECKING:
    from tunesmith.store import Store

# How many random configs are estimated in all, for starts that are worth a trial.
_SAMPLES = 3000

# So many of the best-estimated configs of a sketch are tried before the tuner's own proposals.
_STARTS = 16


class SketchIdentity(TypedDict):
    """The sketch that made the programs of a record; empty for a problem without one."""

    sketch: str
    sketch_version: int


class Branch:
    """One sketch of a run: its search, and the configs to try before those of the search.

    ``name`` is what candidates call it: the sketch's name, empty where a run has one problem only.
    ``trials`` and ``best_seconds`` sum up what was observed.
    """

    def __init__(self, name: str, problem: Problem, search: Search) -> None:
        self.name = name
        self.problem = problem
        self.identity = sketch_of(problem)
        self.trials = 0
        self.best_seconds: float | None = None
        default = problem.default
        self._early = deque([] if default is None else [default])
        self._search = search

    @property
    def sketch(self) -> str:
        """The name of the sketch, whatever candidates call it."""
        return self.identity["sketch"]

    def find_starts(self, finder: StartFinder, seed: int) -> float | None:
        """Have good starts proposed before the tuner's own configs; the best one's estimate."""
        if not isinstance(self.problem, TaskProblem):
            return None
        starts = finder.find(self.problem.space, self.problem.estimate, _STARTS, seed)
        self._early.extend(start.config for start in starts)
        return starts[0].estimate if starts else None

    def propose_default(self) -> list[Config]:
        """The default, unless there is none or it was tried before."""
        default = self.problem.default
        if default is None or default in self._search.seen:
            return []
        return self.propose(1)

    def propose(self, count: int) -> list[Config]:
        """Up to ``count`` new configs: the default, then good starts, then the tuner's own."""
        configs: list[Config] = []
        while self._early and len(configs) < count:
            config = self._early.popleft()
            if config not in self._search.seen:
                self._search.seen.add(config)
                configs.append(config)
        left = count - len(configs)
        return [*configs, *self._search.propose(left)] if left else configs

    def observe(self, measurements: Sequence[Measurement]) -> None:
        """Take in measurements of plain configs."""
        self._search.observe(measurements)
        self.trials += len(measurements)
        known = [] if self.best_seconds is None else [self.best_seconds]
        times = known + [measurement.seconds for measurement in measurements if measurement.valid]
        self.best_seconds = min(times, default=None)


class Branches:
    """All branches of a run as one search over candidates."""

    def __init__(self, problem: Problem | Portfolio, tuner: Tuner, seed: int) -> None:
        self.branches = [
            Branch(name, each, _start(tuner, each, seed))
            for name, each in _named_problems(problem).items()
        ]
        self._seed = seed
        self._numbers = {branch.name: number for number, branch in enumerate(self.branches)}
        self._allocation = Bandit().start(len(self.branches))
        self._open = set(range(len(self.branches)))

    def propose_defaults(self, count: int) -> list[Config]:
        """Up to ``count`` candidates that need no thinking: the default of each branch."""
        candidates: list[Config] = []
        for number, branch in enumerate(self.branches):
            if len(candidates) < count:
                configs = branch.propose_default()
                self._allocation.give(number, len(configs))
                candidates += [candidate(branch.name, config) for config in configs]
        return candidates

    def find_starts(self) -> None:
        """Look for good starts in all branches: the prior. See ``StartFinder``."""
        finder = StartFinder(samples=_SAMPLES // len(self.branches))
        self._allocation.expect(
            [branch.find_starts(finder, self._seed) for branch in self.branches]
        )

    def propose(self, count: int) -> list[Config]:
        """Up to ``count`` new candidates: fewer when fewer are left, none at the end."""
        candidates: list[Config] = []
        short: set[int] = set()  # who gave less than asked for is not asked again in this call
        while len(candidates) < count and (able := self._open - short):
            chosen: Counter[int] = Counter()
            for _ in range(count - len(candidates)):
                number = self._allocation.choose(able)
                self._allocation.give(number)
                chosen[number] += 1
            for number, wanted in chosen.items():
                branch = self.branches[number]
                configs = branch.propose(wanted)
                candidates += [candidate(branch.name, config) for config in configs]
                if len(configs) < wanted:
                    self._allocation.give(number, len(configs) - wanted)
                    short.add(number)
                if not configs:
                    self._open.discard(number)
        return candidates

    def observe(self, measurements: Sequence[Measurement]) -> None:
        """Take in measurements of candidates, whoever proposed them."""
        observed: dict[str, list[Measurement]] = {}
        for measurement in measurements:
            name, _ = sketch_and_config(measurement.config)
            observed.setdefault(name, []).append(of_plain_config(measurement))
        for name, group in observed.items():
            self.branches[self._numbers[name]].observe(group)
            for measurement in group:
                self._allocation.observe(self._numbers[name], measurement.seconds)

    def resume(self, name: str, measurements: Sequence[Measurement]) -> None:
        """Take in candidates of a branch that earlier runs measured: nobody proposed them."""
        self._allocation.give(self._numbers[name], len(measurements))
        self.observe(measurements)

    def branch_of(self, candidate: Config) -> Branch:
        """The branch that a candidate belongs to."""
        return self.branches[self._numbers[sketch_and_config(candidate)[0]]]

    @property
    def trials(self) -> Mapping[str, int]:
        """How many trials each sketch has had; empty for a problem without sketches."""
        return {branch.sketch: branch.trials for branch in self.branches if branch.sketch}


def resume(
    search: Branches, standing: Standing, store: Store, problem: Problem | Portfolio
) -> None:
    """Learn from earlier runs. Where a play-off measured a config again, its times count."""

    def latest(config: Config) -> Measurement | None:
        name, plain = sketch_and_config(config)
        identity = search.branch_of(config).identity
        known = store.measurement_of(problem.key, plain, **identity)
        return None if known is None else as_candidate(name, known)

    for branch in search.branches:
        stored = store.measurements(problem.key, **branch.identity)
        measurements = [as_candidate(branch.name, measurement) for measurement in stored]
        search.resume(branch.name, measurements)
        for measurement in measurements:
            standing.count(measurement)
    standing.since_improvement = 0
    names = {
        (it.identity["sketch"], it.identity["sketch_version"]): it.name for it in search.branches
    }
    winner = store.best(problem.key, among=names)
    known = []
    if winner is not None:
        known.append(candidate(names[winner.sketch, winner.sketch_version], winner.config))
    known += [measurement.config for measurement in standing.finalists]
    again = [latest(config) for config in dict.fromkeys(known)]
    standing.replace_best([m for m in again if m is not None and m.valid])
    if problem.default is not None:
        standing.default = latest(problem.default)


def sketch_of(problem: Measurable) -> SketchIdentity:
    """What a store files the records of a problem under, beside its key."""
    sketch = problem.describe().get("sketch") or {"name": "", "version": 0}
    return {"sketch": str(sketch["name"]), "sketch_version": int(sketch["version"])}


def _start(tuner: Tuner, problem: Problem, seed: int) -> Search:
    """A search of a problem's space. A ``SpaceError`` says which tuner cannot search what."""
    try:
        return tuner.start(problem.space, seed)
    except SpaceError as error:
        raise SpaceError(f"tuner '{tuner.name}' cannot search {problem.key}: {error}") from error


def _named_problems(problem: Problem | Portfolio) -> dict[str, Problem]:
    if isinstance(problem, Portfolio):
        return {each.sketch.name: each for each in problem.problems}
    return {"": problem}
