"""A problem whose measurements are a script: what each config takes, what goes wrong and when."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tunesmith.measure.activity import Activity
from tunesmith.measure.inline import InlineMeasurer
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.problem import BaseProblem, MeasureSettings
from tunesmith.space import Config, Ordinal, Space
from tunesmith.store import Store

Seconds = Callable[[int], float]


def line(size: int) -> Space:
    """One parameter ``n`` from 1 to ``size``."""
    return Space([Ordinal("n", tuple(range(1, size + 1)))])


def config(n: int) -> Config:
    return Config({"n": n})


def number(of: Config) -> int:
    n = of["n"]
    assert isinstance(n, int)
    return n


@dataclass
class Scripted(BaseProblem):
    """A problem over ``line(size)``.

    ``seconds`` of ``n`` in a trial and ``again`` in a round of the play-off; infinity makes the
    trial fail. ``reports`` makes of a trial's measurement what the measurer reports. ``before`` is
    called ahead of each trial with how many there were, and ``between`` ahead of each round. Up to
    ``burst`` trials finish at once, the last submitted ones first. ``log`` keeps the trials in
    their order, ``rounds`` those of the play-off, ``known_best`` the best that was known when each
    was submitted, ``patience`` the seconds that each ``collect`` might take.
    """

    seconds: Seconds = float
    again: Seconds | None = None
    reports: Callable[[Measurement], Measurement] = lambda measurement: measurement
    size: int = 40
    default: Config | None = None
    flops: float | None = None
    finalists: int = 0
    batch: int = 1
    burst: int = 1
    version: int = 1
    before: Callable[[int], None] = lambda trials: None
    between: Callable[[int], None] = lambda rounds: None
    log: list[Config] = field(default_factory=list)
    rounds: list[Config] = field(default_factory=list)
    measurers: list[ScriptedMeasurer] = field(default_factory=list)
    known_best: list[float] = field(default_factory=list)
    patience: list[float] = field(default_factory=list)
    key: str = "scripted"

    @property
    def space(self) -> Space:
        return line(self.size)

    def describe(self) -> Mapping[str, Any]:
        return {
            "operator": {"operator": "scripted"},
            "target": {"kind": "script"},
            "sketch": {"name": "line", "version": self.version},
        }

    def measurer(self, settings: MeasureSettings) -> ScriptedMeasurer:
        self.measurers.append(ScriptedMeasurer(self))
        return self.measurers[-1]


class ScriptedMeasurer(InlineMeasurer):
    """Measures in this process, as the script says."""

    def __init__(self, problem: Scripted) -> None:
        super().__init__()
        self._problem = problem
        self.closed = False

    @property
    def batch(self) -> int:
        return self._problem.batch

    def submit(self, candidates: Sequence[Candidate], best: float = math.inf) -> None:
        self._problem.known_best += [best] * len(candidates)
        super().submit(candidates, best)

    def collect(self, timeout: float) -> list[Measurement]:
        self._problem.patience.append(timeout)
        count = min(self._problem.burst, self.pending)
        return [self._measured(self._queue.pop()) for _ in range(count)]

    def measure(self, candidate: Candidate) -> Measurement:
        self._problem.before(len(self._problem.log))
        self._problem.log.append(candidate.config)
        return self._problem.reports(self._timed(candidate.config, self._problem.seconds))

    def measure_once(self, candidate: Candidate) -> Measurement:
        self._problem.between(len(self._problem.rounds))
        self._problem.rounds.append(candidate.config)
        return self._timed(candidate.config, self._problem.again or self._problem.seconds)

    def _timed(self, config: Config, script: Seconds) -> Measurement:
        with self.spending(Activity.RUN):
            start = time.perf_counter()
            seconds = script(number(config))
            spent = time.perf_counter() - start
        if math.isinf(seconds):
            return Measurement(config, Outcome.RUNTIME_DEVICE, run_time=spent, message="crashed")
        return Measurement(config, Outcome.NO_ERROR, (seconds,), run_time=spent)

    def close(self) -> None:
        super().close()
        self.closed = True


def failing_at(trial: int, error: BaseException) -> Callable[[int], None]:
    """For ``before`` or ``between``: raises once, when so many were done."""
    errors = [error]

    def check(done: int) -> None:
        if done == trial and errors:
            raise errors.pop()

    return check


def trials_of(measurements: Sequence[Measurement]) -> list[int]:
    """The numbers of their configs."""
    return [number(measurement.config) for measurement in measurements]


def stored(store: Store, *, play_off: bool = False) -> list[Measurement]:
    """What the store has of the scripted problem, in the order of time."""
    return [record.measurement for record in store.records("scripted", play_off=play_off)]
