"""Is every sketch for GPUs right on this one? Small operators, each measured with all that fit."""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tunesmith.bench.timing.gpu_time import Deadline
from tunesmith.errors import TunesmithError, unknown_name
from tunesmith.measure.task.portfolio import Portfolio
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.operators import Operator
from tunesmith.problem import Measurer, MeasureSettings
from tunesmith.sketches import Sketch, sketches
from tunesmith.target import Target
from tunesmith.task import Task

# A measurer needs some seconds of one core before it measures: others get ready meanwhile.
_CORES_A_MEASURER = 3

# What is asked is whether a program is right: one short repeat is enough of it.
_SETTINGS = MeasureSettings(
    repeats=1,
    min_repeat_time=1e-4,
    build_timeout=30.0,
    cut_off=1.0,
    workers=2 * _CORES_A_MEASURER,
)

# How often to look at the clock while waiting for a measurement, in seconds.
_LOOK_UP = 0.25

# So many failures of a sketch are told in full.
_MOST_FAILURES = 5

Row = dict[str, Any]


@dataclass
class _Tally:
    """What came of the trials of a sketch; ``unfinished`` are those that there was no time for."""

    sketch: Sketch
    operators: list[Operator] = field(default_factory=list)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    unfinished: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)

    def count(self, operator: Operator, measurement: Measurement) -> None:
        outcome = measurement.outcome
        self.outcomes[outcome] += 1
        fine = outcome in (Outcome.NO_ERROR, Outcome.INSTANTIATION_ERROR)
        if not fine and len(self.failures) < _MOST_FAILURES:
            self.failures.append(
                {
                    "operator": operator.key,
                    "config": measurement.config.to_json(),
                    "outcome": outcome.name,
                    "message": measurement.message,
                }
            )

    def row(self) -> Row:
        return {
            "sketch": self.sketch.name,
            "version": self.sketch.version,
            "only_by_name": self.sketch.only_by_name,
            "dtypes": list(dict.fromkeys(operator.dtype for operator in self.operators)),
            "operators": [operator.key for operator in self.operators],
            "outcomes": {
                outcome.name: self.outcomes[outcome]
                for outcome in Outcome
                if self.outcomes[outcome]
            },
            "unfinished": self.unfinished,
            "failures": self.failures,
        }


@dataclass(frozen=True)
class _Started:
    """A measurer at work on all that is to be tried on an operator."""

    operator: Operator
    measurer: Measurer
    candidates: Sequence[Candidate]


@dataclass
class SketchCheck:
    """The sketches for a target, tried on operators: the default and ``samples`` random configs of
    each sketch that supports an operator.

    ``names`` are the sketches to try, all unless given; one may leave out ``cuda_``. Raises
    ``UsageError`` for a name that is none of a sketch for the target.
    """

    target: Target
    operators: Sequence[Operator]
    samples: int
    seed: int
    names: Collection[str] = ()

    def __post_init__(self) -> None:
        known = {
            name: sketch
            for name, sketch in sketches().items()
            if name.startswith(self.target.kind)
            or any(sketch.supports(operator, self.target) for operator in self.operators)
        }
        chosen = set()
        for name in self.names:
            whole = name if name in known else f"{self.target.kind}_{name}"
            if whole not in known:
                raise unknown_name("sketch", name, known)
            chosen.add(whole)
        self._tallies = {
            name: _Tally(sketch) for name, sketch in known.items() if not chosen or name in chosen
        }

    def rows(self) -> list[Row]:
        """A row for each sketch, of what was measured so far."""
        return [tally.row() for tally in self._tallies.values()]

    @property
    def planned(self) -> int:
        """How many operators there are that any of the sketches supports."""
        return len(self._portfolios)

    def run(self, deadline: Deadline, done: Callable[[int], None]) -> None:
        """Measure all of it, as far as there is time; ``done`` hears of how many operators.

        Raises ``TunesmithError`` if nothing can be measured at all.
        """
        ahead = max(1, self.target.core_count // _CORES_A_MEASURER)
        waiting, started = deque(self._portfolios), deque[_Started]()
        broken: list[str] = []
        with contextlib.ExitStack() as stack:
            for finished in range(1, self.planned + 1):
                while waiting and len(started) < ahead and deadline.left > 0:
                    started.append(self._start(waiting.popleft(), stack))
                if not started:
                    break
                try:
                    self._take(started.popleft(), deadline)
                except TunesmithError as error:  # a program may bring the server down, repeatedly
                    broken.append(str(error))
                done(finished)
        for portfolio in waiting:
            for name, count in _by_sketch(self._candidates(portfolio)).items():
                self._tallies[name].unfinished += count
        if broken and not any(tally.outcomes for tally in self._tallies.values()):
            raise TunesmithError(broken[0])

    def _start(self, portfolio: Portfolio, stack: contextlib.ExitStack) -> _Started:
        measurer = stack.enter_context(contextlib.closing(portfolio.measurer(_SETTINGS)))
        candidates = self._candidates(portfolio)
        measurer.submit(candidates)
        return _Started(portfolio.task.operator, measurer, candidates)

    def _take(self, started: _Started, deadline: Deadline) -> None:
        """All that comes of the measurer before the time is up. Raises like its ``collect``."""
        measurer, operator = started.measurer, started.operator
        unfinished = _by_sketch(started.candidates)
        for name in unfinished:
            self._tallies[name].operators.append(operator)
        try:
            while measurer.pending:
                late = deadline.left <= 0  # what has been measured by then still counts
                for measurement in measurer.collect(0.0 if late else _LOOK_UP):
                    self._tallies[measurement.sketch].count(operator, measurement)
                    unfinished[measurement.sketch] -= 1
                if late:
                    break
        finally:
            for name, count in unfinished.items():
                self._tallies[name].unfinished += count
            measurer.close()

    @cached_property
    def _portfolios(self) -> list[Portfolio]:
        """The operators that any sketch supports, each with all sketches that do."""
        made = []
        for operator in self.operators:
            task = Task(operator, self.target)
            fitting = tuple(
                TaskProblem(task, tally.sketch)
                for tally in self._tallies.values()
                if tally.sketch.supports(operator, self.target)
            )
            made += [Portfolio(fitting)] if fitting else []
        return made

    def _candidates(self, portfolio: Portfolio) -> list[Candidate]:
        """The default and random configs of each sketch, none twice."""
        found: dict[Candidate, None] = {}
        for problem in portfolio.problems:
            rng = np.random.default_rng(self.seed)
            drawn = [problem.space.sample(rng) for _ in range(self.samples)]
            for config in (problem.default, *drawn):
                found[Candidate(config, problem.sketch.name)] = None
        return list(found)


def _by_sketch(candidates: Sequence[Candidate]) -> Counter[str]:
    return Counter(candidate.sketch for candidate in candidates)
