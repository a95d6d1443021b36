"""Python functions as problems."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, SupportsFloat

from tunesmith.errors import InstantiationError, describe, one_line
from tunesmith.measure.activity import Activity
from tunesmith.measure.identity import digest, identify
from tunesmith.measure.inline import InlineMeasurer, as_cost, check_default
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.problem import BaseProblem, MeasureSettings
from tunesmith.space import Config, Space


class FunctionProblem(BaseProblem):
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

    def measurer(self, settings: MeasureSettings) -> FunctionMeasurer:  # noqa: ARG002 # see the class
        return FunctionMeasurer(self._function)


class FunctionMeasurer(InlineMeasurer):
    """Calls a function for each config."""

    def __init__(self, function: Callable[[Config], SupportsFloat]) -> None:
        super().__init__()
        self._function = function

    def measure(self, candidate: Candidate) -> Measurement:
        config = candidate.config
        with self.spending(Activity.RUN):
            start = time.perf_counter()
            outcome, seconds, message = self._call(config)
            spent = time.perf_counter() - start
        return Measurement(
            config=config,
            outcome=outcome,
            run_seconds=seconds,
            run_time=spent,
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


def _name_of(function: Callable[..., object]) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"
