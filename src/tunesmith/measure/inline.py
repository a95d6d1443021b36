"""Measuring in the calling process, one config at a time."""

from __future__ import annotations

import contextlib
import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, SupportsFloat

from tunesmith.errors import InstantiationError, SpaceError, TunesmithError, describe, one_line
from tunesmith.machine import this_machine
from tunesmith.measure.activity import Activity, ActivityClock
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.space import Config, Space


class InlineMeasurer(ABC):
    """A ``Measurer`` that works only while ``collect`` is called: one candidate a call.

    So a tuning loop can stop between two trials, but a ``collect`` lasts as long as its trial,
    whatever its timeout. A subclass gives ``measure``; it calls ``spending`` around builds and
    runs, has a ``machine`` of its own where that is not this one, and makes of ``best`` (the least
    seconds of a call so far) what it likes. An exception of ``measure`` costs the trial:
    ``InstantiationError`` if the config makes no program, any other is an unknown error; but other
    ``TunesmithError`` end the run.
    """

    def __init__(self) -> None:
        self.best = math.inf
        self._queue: deque[Candidate] = deque()
        self._clock = ActivityClock()

    @property
    def machine(self) -> Mapping[str, Any]:
        return this_machine()

    @property
    def batch(self) -> int:
        return 1

    @property
    def pending(self) -> int:
        return len(self._queue)

    def submit(self, candidates: Sequence[Candidate], best: float = math.inf) -> None:
        self.best = min(self.best, best)
        self._clock.start(time.monotonic())
        self._queue.extend(candidates)

    def collect(self, timeout: float) -> list[Measurement]:  # noqa: ARG002 # see the class
        return [self._measured(self._queue.popleft())] if self._queue else []

    def _measured(self, candidate: Candidate) -> Measurement:
        measurement = _guarded(self.measure, candidate)
        self.best = min(self.best, measurement.seconds)
        return measurement

    def cancel(self) -> None:
        self._queue.clear()

    def play_off(self, candidates: Sequence[Candidate], rounds: int) -> list[Measurement]:
        taken: list[list[Measurement]] = [[] for _ in candidates]
        for _ in range(rounds):
            for candidate, measurements in zip(candidates, taken, strict=True):
                measurements.append(_guarded(self.measure_once, candidate))
        return [_joined(measurements) for measurements in taken if measurements]

    def round_cost(self, measurement: Measurement) -> float:
        return measurement.build_time + measurement.run_time

    @property
    def simulated(self) -> float | None:
        return None

    def time_split(self) -> Mapping[str, float]:
        return self._clock.split(time.monotonic())

    def close(self) -> None:
        self.cancel()
        self._clock.stop(time.monotonic())

    @contextlib.contextmanager
    def spending(self, activity: Activity) -> Iterator[None]:
        """Book the time of a block on an activity."""
        self._clock.change(activity, time.monotonic())
        try:
            yield
        finally:
            self._clock.change(Activity.IDLE, time.monotonic())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def measure(self, candidate: Candidate) -> Measurement:
        """A whole trial: the measurement of the candidate's config."""

    def measure_once(self, candidate: Candidate) -> Measurement:
        """One round of a play-off: a trial with a single run."""
        return self.measure(candidate)


def _guarded(measure: Callable[[Candidate], Measurement], candidate: Candidate) -> Measurement:
    """A measurement of a candidate, ``checked``, whatever happens in ``measure``."""
    try:
        measurement = measure(candidate).checked()
    except InstantiationError as error:
        measurement = Measurement(
            candidate.config, Outcome.INSTANTIATION_ERROR, message=describe(error)
        )
    except TunesmithError:
        raise
    except Exception as error:
        measurement = Measurement(candidate.config, Outcome.UNKNOWN_ERROR, message=describe(error))
    return replace(measurement, sketch=candidate.sketch)


def _joined(rounds: Sequence[Measurement]) -> Measurement:
    """All rounds of one config as one measurement; the first failure, if there is one."""
    worst = next((measurement for measurement in rounds if not measurement.valid), rounds[0])
    return Measurement(
        config=worst.config,
        sketch=worst.sketch,
        outcome=worst.outcome,
        run_seconds=tuple(m.seconds for m in rounds) if worst.valid else (),
        build_time=sum(m.build_time for m in rounds),
        run_time=sum(m.run_time for m in rounds),
        message=worst.message,
    )


def as_cost(result: object) -> float:
    """A result as a cost; raises ``ValueError`` unless it is a positive finite number."""
    if isinstance(result, bool) or not isinstance(result, SupportsFloat):
        raise ValueError(one_line(f"the cost is {result!r}, not a number"))
    try:
        cost = float(result)
    except Exception as error:  # an array of several numbers, an integer too large
        raise ValueError(one_line(f"the cost is not a number: {error}")) from None
    if not (math.isfinite(cost) and cost > 0.0):
        raise ValueError(f"the cost is {cost}, not a positive finite number")
    return cost


def check_default(space: Space, default: Config | None) -> None:
    """Raise ``SpaceError`` if a default config is not one of the space."""
    if default is not None and not space.contains(default):
        raise SpaceError(f"the default config {default.key} is not in the space: give one that is")
