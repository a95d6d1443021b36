"""Programs that are built and never run: what of a space compiles, and what it takes of a GPU.

For a target that this machine does not have.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.measure.local.build_result import BuildResult
from tunesmith.measure.task.portfolio import joined
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measurement import Candidate, Outcome
from tunesmith.problem import MeasureSettings
from tunesmith.space import Config


@dataclass(frozen=True)
class Builds:
    """Builds of a task: for each sketch the results, in the order in which they came.

    ``seconds`` is the wall clock of all of them.
    """

    task: str
    results: Mapping[str, Sequence[BuildResult]]
    seconds: float

    @property
    def all(self) -> Sequence[BuildResult]:
        """Those of all sketches."""
        return [one for results in self.results.values() for one in results]

    @property
    def outcomes(self) -> Mapping[Outcome, int]:
        """How many builds ended in each class."""
        return Counter(one.outcome for one in self.all)


def build_sample(
    problems: tuple[TaskProblem, ...],
    count: int,
    *,
    seconds: float | None = None,
    seed: int = 0,
    settings: MeasureSettings | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Builds:
    """Build configs of one task's sketches, each in a process of its own, and run none.

    Of every sketch the default comes first, then a uniform sample; ``count`` is how many configs
    there are in all. After so many ``seconds``, if given, it ends with the next result.
    ``progress`` is told how many are done.

    Raises ``UsageError`` for a count below 1, and ``TunesmithError`` where nothing can be built.
    """
    if count < 1:
        raise UsageError(f"cannot build {count} configs: give 1 or more")
    start = time.monotonic()
    results: dict[str, list[BuildResult]] = {problem.sketch.name: [] for problem in problems}
    problem = joined(problems)
    with problem.measurer(settings or MeasureSettings()) as measurer:
        for done, result in enumerate(measurer.build(_sample(problems, count, seed)), 1):
            results[result.candidate.sketch].append(result)
            progress(done)
            if seconds is not None and time.monotonic() - start >= seconds:
                break
    return Builds(problem.key, results, time.monotonic() - start)


def _sample(problems: Sequence[TaskProblem], count: int, seed: int) -> list[Candidate]:
    """As many configs of each sketch, as far as its space has them, in turn."""
    share = -(-count // len(problems))
    in_turn = zip_longest(*(_configs(problem, share, seed) for problem in problems))
    return [
        Candidate(config, problem.sketch.name)
        for turn in in_turn
        for problem, config in zip(problems, turn, strict=True)
        if config is not None
    ][:count]


def _configs(problem: TaskProblem, count: int, seed: int) -> Iterator[Config]:
    """The default, and others up to ``count`` in all."""
    default = problem.default
    others = problem.space.sample_many(count, np.random.default_rng(seed))
    yield default
    yield from [config for config in others if config != default][: count - 1]
