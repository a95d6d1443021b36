"""Measuring in the calling process, one config at a time."""

from __future__ import annotations

import contextlib
import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self, SupportsFloat

from tunesmith.errors import SpaceError
from tunesmith.measure.activity import Activity, ActivityClock
from tunesmith.measure.failure import one_line
from tunesmith.measurement import Measurement
from tunesmith.space import Config, Space


class InlineMeasurer(ABC):
    """A ``Measurer`` that works only while ``collect`` is called: one config a call.

    So a tuning loop can stop between two trials, but a ``collect`` lasts as long as its trial,
    whatever its timeout.
    """

    def __init__(self) -> None:
        self._queue: deque[Config] = deque()
        self._clock = ActivityClock()

    @property
    def batch(self) -> int:
        return 1

    @property
    def pending(self) -> int:
        return len(self._queue)

    def submit(self, configs: Sequence[Config]) -> None:
        self._clock.start(time.monotonic())
        self._queue.extend(configs)

    def collect(self, timeout: float) -> list[Measurement]:  # noqa: ARG002 # see the class
        return [self.measure(self._queue.popleft())] if self._queue else []

    def cancel(self) -> None:
        self._queue.clear()

    def play_off(self, configs: Sequence[Config], rounds: int) -> list[Measurement]:
        taken: list[list[Measurement]] = [[] for _ in configs]
        for _ in range(rounds):
            for config, measurements in zip(configs, taken, strict=True):
                measurements.append(self.measure_once(config))
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @abstractmethod
    def measure(self, config: Config) -> Measurement:
        """A whole trial."""

    def measure_once(self, config: Config) -> Measurement:
        """One round of a play-off: a trial with a single run."""
        return self.measure(config)


def _joined(rounds: Sequence[Measurement]) -> Measurement:
    """All rounds of one config as one measurement; the first failure, if there is one."""
    worst = next((measurement for measurement in rounds if not measurement.valid), rounds[0])
    return Measurement(
        config=worst.config,
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
