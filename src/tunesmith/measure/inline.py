"""Problems that are measured in the calling process, one config at a time: Python functions."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, SupportsFloat

from tunesmith.errors import InstantiationError, SpaceError
from tunesmith.measure.activity import Activity, ActivityClock
from tunesmith.measure.failure import describe, one_line
from tunesmith.measurement import Measurement, Outcome
from tunesmith.problem import MeasureSettings
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


class FunctionProblem:
    """Any Python function of a config as something to tune.

    ``function`` takes a config and returns what it costs: a positive finite number, lower is
    better, in seconds or any other unit (it is recorded in the place of seconds). It is called in
    this process, once a trial, so nothing contains it: no timeout, no memory limit. None of the
    ``MeasureSettings`` applies.

    An exception costs the trial (``InstantiationError``: the config makes no program; any other: a
    failed run), and so does a result that is no cost (a wrong answer). ``KeyboardInterrupt`` ends
    the run. ``name`` identifies the function in the store; it is the function's module and
    qualified name unless given, so name what has no lasting name of its own: a lambda, a function
    of a script. ``finalists`` of the best are called again at the end of a run: some where the cost
    varies from call to call, none where it is exact. Raises ``SpaceError`` if ``default`` is not in
    the space.
    """

    flops = None

    def __init__(
        self,
        space: Space,
        function: Callable[[Config], SupportsFloat],
        name: str | None = None,
        default: Config | None = None,
        *,
        finalists: int = 0,
    ) -> None:
        self.space = space
        self.default = default
        self.finalists = finalists
        self.name = name or _name_of(function)
        self._function = function
        check_default(space, default)

    @property
    def key(self) -> str:
        return f"function:{self.name}:{digest(identify(self.space))}"

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "function", "function": self.name, "space": identify(self.space)}

    def measurer(
        self,
        settings: MeasureSettings,  # noqa: ARG002 # see the class
        best: float = math.inf,  # noqa: ARG002 # nothing is cut off
    ) -> FunctionMeasurer:
        return FunctionMeasurer(self._function)


class FunctionMeasurer(InlineMeasurer):
    """Calls a function for each config."""

    def __init__(self, function: Callable[[Config], SupportsFloat]) -> None:
        super().__init__()
        self._function = function

    def measure(self, config: Config) -> Measurement:
        start = time.perf_counter()
        with self.spending(Activity.RUN):
            outcome, seconds, message = self._call(config)
        return Measurement(
            config=config,
            outcome=outcome,
            run_seconds=seconds,
            run_time=time.perf_counter() - start,
            message=message,
        )

    def _call(self, config: Config) -> tuple[Outcome, tuple[float, ...], str]:
        try:
            result = self._function(config)
        except InstantiationError as error:
            return Outcome.INSTANTIATION_ERROR, (), one_line(str(error))
        except (Exception, SystemExit) as error:
            return Outcome.RUNTIME_DEVICE, (), describe(error)
        try:
            return Outcome.NO_ERROR, (as_cost(result),), ""
        except ValueError as error:
            return Outcome.WRONG_ANSWER, (), str(error)


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


def identify(space: Space) -> Mapping[str, Any]:
    """A space as JSON; of a constraint that is a Python function only its label remains."""
    try:
        return space.to_json()
    except SpaceError:
        return {
            "parameters": [parameter.to_json() for parameter in space.parameters],
            "constraints": [str(constraint) for constraint in space.constraints],
        }


def digest(identity: object) -> str:
    """16 hexadecimal digits that identify something JSON-ready, the same in every process."""
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _name_of(function: Callable[..., object]) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


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
