"""The searches of a run, one a sketch, and who of them proposes next."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from tunesmith.errors import SpaceError
from tunesmith.measurement import Candidate, Measurement
from tunesmith.problem import Measurable, Problem
from tunesmith.space import Config
from tunesmith.transfer.model import GlobalModel, estimates_of, transferred_of
from tunesmith.tuners import Tuner
from tunesmith.tuners.starts import Start, StartFinder
from tunesmith.tuners.tuner import Search
from tunesmith.tuners.view import View
from tunesmith.tuning.bandit import Bandit
from tunesmith.tuning.incumbents import Incumbents

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

    ``sketch`` is the name, empty where a problem has no sketches. ``trials`` and ``best_seconds``
    sum up what was observed.
    """

    def __init__(
        self, problem: Problem, tuner: Tuner, seed: int, model: GlobalModel | None
    ) -> None:
        self.problem = problem
        self.identity = sketch_of(problem)
        self.sketch = self.identity["sketch"]
        self.view = View(
            problem.space,
            estimates_of(problem, model),
            problem.features,
            transferred_of(problem, model),
        )
        self.trials = 0
        self.best_seconds: float | None = None
        self._early = deque([] if problem.default is None else [problem.default])
        self._search = _start(tuner, problem, self.view, seed)

    @property
    def default(self) -> Candidate | None:
        """The default of the problem as a candidate."""
        default = self.problem.default
        return None if default is None else Candidate(default, self.sketch)

    def find_starts(self, finder: StartFinder, seed: int) -> Start | None:
        """Have good starts proposed before a default that was not tried yet, and before the tuner's
        own configs; the best one of them.

        None where there is no model.
        """
        starts = finder.find(self.view, _STARTS, seed)
        self._early.extendleft(start.config for start in reversed(starts))
        return starts[0] if starts else None

    def propose_default(self) -> list[Candidate]:
        """The default, unless there is none or it was tried before."""
        default = self.problem.default
        if default is None or default in self._search.seen:
            return []
        return self.propose(1)

    def propose(self, count: int) -> list[Candidate]:
        """Up to ``count`` new ones: good starts and the default, then the tuner's own."""
        configs: list[Config] = []
        while self._early and len(configs) < count:
            config = self._early.popleft()
            if config not in self._search.seen:
                self._search.seen.add(config)
                configs.append(config)
        left = count - len(configs)
        if left:
            configs += self._search.propose(left)
        return [Candidate(config, self.sketch) for config in configs]

    def knows(self, config: Config) -> bool:
        """Whether a config was proposed or observed."""
        return config in self._search.seen

    def observe(self, measurements: Sequence[Measurement]) -> None:
        """Take in measurements of this sketch's configs."""
        self._search.observe(measurements)
        self.trials += len(measurements)
        known = [] if self.best_seconds is None else [self.best_seconds]
        times = known + [measurement.seconds for measurement in measurements if measurement.valid]
        self.best_seconds = min(times, default=None)


class Branches:
    """All branches of a run as one search; ``model`` has learned from other tasks.

    ``favourite`` is the start that is thought fastest, None unless starts were looked for.
    """

    def __init__(
        self, problem: Measurable, tuner: Tuner, seed: int, model: GlobalModel | None = None
    ) -> None:
        self.branches = [Branch(each, tuner, seed, model) for each in problem.alternatives]
        self.favourite: Candidate | None = None
        self._seed = seed
        self._numbers = {branch.sketch: number for number, branch in enumerate(self.branches)}
        self._allocation = Bandit().start(len(self.branches))
        self._open = set(range(len(self.branches)))

    @property
    def default(self) -> Candidate | None:
        """What the others are compared with: the default of the first branch."""
        return self.branches[0].default

    def propose_defaults(self, count: int, *, several: bool) -> list[Candidate]:
        """Up to ``count`` candidates that need no thinking: the default that others are compared
        with, and if ``several`` those of the other branches."""
        candidates: list[Candidate] = []
        for number, branch in enumerate(self.branches if several else self.branches[:1]):
            if len(candidates) < count:
                proposed = branch.propose_default()
                self._allocation.give(number, len(proposed))
                candidates += proposed
        return candidates

    def find_starts(self) -> None:
        """Look for good starts in all branches: the prior. See ``StartFinder``."""
        finder = StartFinder(samples=_SAMPLES // len(self.branches))
        best = [branch.find_starts(finder, self._seed) for branch in self.branches]
        self._allocation.expect([None if start is None else start.estimate for start in best])
        found = zip(best, self.branches, strict=True)
        known = [(start, branch.sketch) for start, branch in found if start is not None]
        if known:
            start, sketch = min(known, key=lambda each: each[0].estimate)
            self.favourite = Candidate(start.config, sketch)

    def propose(self, count: int) -> list[Candidate]:
        """Up to ``count`` new candidates: fewer when fewer are left, none at the end."""
        candidates: list[Candidate] = []
        short: set[int] = set()  # who gave less than asked for is not asked again in this call
        while len(candidates) < count and (able := self._open - short):
            chosen: Counter[int] = Counter()
            for _ in range(count - len(candidates)):
                number = self._allocation.choose(able)
                self._allocation.give(number)
                chosen[number] += 1
            for number, wanted in chosen.items():
                proposed = self.branches[number].propose(wanted)
                candidates += proposed
                if len(proposed) < wanted:
                    self._allocation.give(number, len(proposed) - wanted)
                    short.add(number)
                if not proposed:
                    self._open.discard(number)
        return candidates

    def observe(self, measurements: Sequence[Measurement]) -> None:
        """Take in measurements of candidates, whoever proposed them."""
        observed: dict[str, list[Measurement]] = {}
        for measurement in measurements:
            observed.setdefault(measurement.sketch, []).append(measurement)
        for sketch, group in observed.items():
            self.branches[self._numbers[sketch]].observe(group)
            for measurement in group:
                self._allocation.observe(self._numbers[sketch], measurement.seconds)

    def resume(self, measurements: Sequence[Measurement]) -> None:
        """Take in candidates that other runs measured: nobody proposed them."""
        self.put_back([measurement.candidate for measurement in measurements])
        self.observe(measurements)

    def withdraw(self, candidates: Sequence[Candidate]) -> None:
        """Proposals will not be measured here, at least not now."""
        for candidate in candidates:
            self._allocation.give(self._numbers[candidate.sketch], -1)

    def put_back(self, candidates: Sequence[Candidate]) -> None:
        """Proposals that were withdrawn may be measured here after all."""
        for candidate in candidates:
            self._allocation.give(self._numbers[candidate.sketch])

    def knows(self, candidate: Candidate) -> bool:
        """Whether a candidate was proposed or observed."""
        return self.branch_of(candidate.sketch).knows(candidate.config)

    def branch_of(self, sketch: str) -> Branch:
        """The branch of a sketch."""
        return self.branches[self._numbers[sketch]]

    @property
    def trials(self) -> Mapping[str, int]:
        """How many trials each sketch has had; empty for a problem without sketches."""
        return {branch.sketch: branch.trials for branch in self.branches if branch.sketch}


def resume(
    search: Branches, incumbents: Incumbents, store: Store, task_key: str, machine: str
) -> None:
    """Learn from earlier runs on a machine, which is given by its fingerprint.

    Where a play-off measured a config again, its times count.
    """

    def latest(candidate: Candidate) -> Measurement | None:
        identity = search.branch_of(candidate.sketch).identity
        return store.measurement_of(task_key, candidate.config, machine=machine, **identity)

    for branch in search.branches:
        measurements = store.measurements(task_key, machine=machine, **branch.identity)
        search.resume(measurements)
        for measurement in measurements:
            incumbents.count(measurement)
    incumbents.since_improvement = 0
    identities = [
        (branch.identity["sketch"], branch.identity["sketch_version"]) for branch in search.branches
    ]
    winner = store.best(task_key, machine=machine, among=identities)
    known = [] if winner is None else [Candidate(winner.config, winner.sketch)]
    known += [measurement.candidate for measurement in incumbents.finalists]
    best = [measurement.candidate for measurement in incumbents.best_of_sketch.values()]
    again = {candidate: latest(candidate) for candidate in [*known, *best]}
    valid = {candidate: it for candidate, it in again.items() if it is not None and it.valid}
    incumbents.replace_best([valid[it] for it in dict.fromkeys(known) if it in valid])
    incumbents.best_of_sketch = {it.sketch: valid[it] for it in best if it in valid}
    if search.default is not None:
        incumbents.default = latest(search.default)


def sketch_of(problem: Measurable) -> SketchIdentity:
    """What a store files the records of a problem under, beside its key."""
    sketch = problem.describe().get("sketch") or {"name": "", "version": 0}
    return {"sketch": str(sketch["name"]), "sketch_version": int(sketch["version"])}


def _start(tuner: Tuner, problem: Problem, view: View, seed: int) -> Search:
    """A search of a problem's space. A ``SpaceError`` says which tuner cannot search what."""
    try:
        return tuner.start_on(view, seed)
    except SpaceError as error:
        raise SpaceError(f"tuner '{tuner.name}' cannot search {problem.key}: {error}") from error
