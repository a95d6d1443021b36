"""Runs a search on a space whose configs' measurements are known, by a simulated clock.

``ts.tune`` does the same with a store, a progress display and a play-off at the end; comparing
tuners takes a thousand such runs, so here is the bare loop. One config is proposed at a time, and
its measurement is observed before the next: the clock moves by what the trial is known to cost
and by the tuner's real thinking, and by nothing else.
"""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Callable
from typing import Protocol

from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.budget import Stop
from tunesmith.measure.recorded.recording import Recording
from tunesmith.measure.recorded.replay import MOST_UNKNOWN
from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config, Space
from tunesmith.tuners import Tuner, View


class Answers(Protocol):
    """A space whose configs need not be measured, as their measurements are known."""

    @property
    def count(self) -> float:
        """Of how many configs they are known."""
        ...

    def new_space(self) -> Space:
        """The space as nobody has seen it: what one run has counted is no present to the next."""
        ...

    def measurement(self, config: Config) -> Measurement | None:
        """That of a config; None if it is not known."""
        ...


class RecordedSpace:
    """``Answers`` from a recording, for run after run."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._measurements: list[Measurement | None] = [None] * len(recording.configs)

    @property
    def count(self) -> int:
        """As in ``Answers``."""
        return len(self._measurements)

    def new_space(self) -> Space:
        """As in ``Answers``."""
        space = self._recording.space
        copy: Space = pickle.loads(pickle.dumps(space))
        return copy

    def measurement(self, config: Config) -> Measurement | None:
        """As in ``Answers``."""
        row = self._recording.row(config)
        if row is None:
            return None
        if (known := self._measurements[row]) is None:
            known = self._measurements[row] = self._of_row(row)
        return known

    def _of_row(self, row: int) -> Measurement:
        recording = self._recording
        outcome = Outcome(int(recording.outcomes[row]))
        return Measurement(
            recording.configs[row],
            outcome,
            (float(recording.seconds[row]),) if outcome is Outcome.NO_ERROR else (),
            build_time=float(recording.build_times[row]),
            run_time=float(recording.run_times[row]),
        )


def simulate(
    tuner: Tuner,
    answers: Answers,
    seed: int,
    *,
    seconds: float = math.inf,
    trials: float = math.inf,
    clock: Callable[[], float] = time.process_time,
    view: Callable[[Space], View] = View,
) -> Trace:
    """A run until either limit; a trial that would end after ``seconds`` is not counted.

    Thinking is what ``clock`` says that starting the search, proposing and observing take: by
    default the processor time of this process, so that whatever else the machine is doing costs a
    search nothing. A config that a sparse record lacks costs no more than the thinking, and is
    never observed; the run ends when all that is on record was tried, or after ``MOST_UNKNOWN`` in
    a row that are not. ``view`` makes what the tuner is shown of the space.
    """
    run, space = _Run(seconds, trials, clock), answers.new_space()
    with run.thinking:
        search = tuner.start_on(view(space), seed)
    unknown, left = 0, answers.count
    while (stop := run.stop()) is None:
        with run.thinking:
            configs = search.propose(1) if left and unknown < MOST_UNKNOWN else []
        if not configs:
            stop = Stop.EXHAUSTED
            break
        measurement = answers.measurement(configs[0])
        if measurement is None:
            unknown += 1
            continue
        if not run.take(measurement):
            stop = Stop.SECONDS
            break
        unknown, left = 0, left - 1
        with run.thinking:
            search.observe([measurement])
    return run.trace(stop)


class _Thinking:
    """Adds up the time of blocks. Far cheaper than a generator's context, which a trial has two
    of."""

    __slots__ = ("_begun", "_clock", "spent")

    def __init__(self, clock: Callable[[], float]) -> None:
        self.spent = 0.0
        self._clock = clock
        self._begun = 0.0

    def __enter__(self) -> None:
        self._begun = self._clock()

    def __exit__(self, *_: object) -> None:
        self.spent += self._clock() - self._begun


class _Run:
    """How far a run is."""

    def __init__(self, seconds: float, trials: float, clock: Callable[[], float]) -> None:
        self.thinking = _Thinking(clock)
        self._seconds = seconds
        self._trials = trials
        self._built = self._ran = 0.0
        self._ended: list[float] = []
        self._measurements: list[Measurement] = []

    def stop(self) -> Stop | None:
        """Why to stop now, if so."""
        if len(self._ended) >= self._trials:
            return Stop.TRIALS
        if self.thinking.spent + self._built + self._ran >= self._seconds:
            return Stop.SECONDS
        return None

    def take(self, measurement: Measurement) -> bool:
        """Count a trial; False if it would end too late, which leaves all as it was."""
        built, ran = self._built + measurement.build_time, self._ran + measurement.run_time
        ended = self.thinking.spent + built + ran
        if ended > self._seconds:
            return False
        self._built, self._ran = built, ran
        self._ended.append(ended)
        self._measurements.append(measurement)
        return True

    def trace(self, stopped: Stop) -> Trace:
        spent = {
            "search": self.thinking.spent,
            "build": self._built,
            "run": self._ran,
            "record": 0.0,
            "idle": 0.0,
        }
        return Trace.of(self._measurements, self._ended, spent, stopped)
