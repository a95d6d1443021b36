"""What a tuning run works on: a space, and a way to measure its configs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measurement import Candidate, Measurement
from tunesmith.space import Config, Space

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MeasureSettings:
    """How trials are measured. Times are in seconds, memory in bytes.

    A build and a run of a trial may take ``build_timeout`` and ``run_timeout``, a process may
    allocate ``memory_limit``. With ``verify`` outputs are compared with the operator's reference. A
    candidate that an estimate of a call or two puts at more than ``cut_off`` times the best time so
    far, or whose repeats would outlast ``run_timeout``, gets that one figure. ``min_repeat_time``
    is how long one repeat lasts at least, ``repeats`` how many there are; there are more if
    something on the machine disturbs them. ``flush_cache`` empties the caches before each repeat
    (one call a repeat then), on a GPU before each call. ``workers`` is how many programs are built
    at a time, None: as many as there are cores. With ``measure_again`` a program is built and
    measured even where another config of the same run made the same one; otherwise its figures are
    repeated (``Measurement.repeated``).

    Raises ``UsageError`` for a value that makes no sense.
    """

    build_timeout: float = 10.0
    run_timeout: float = 10.0
    memory_limit: int = 4 << 30
    repeats: int = 3
    min_repeat_time: float = 0.005
    cut_off: float = 3.0
    flush_cache: bool = False
    verify: bool = True
    workers: int | None = None
    measure_again: bool = False

    def __post_init__(self) -> None:
        for name in ("build_timeout", "run_timeout", "memory_limit", "repeats", "min_repeat_time"):
            if not 0 < getattr(self, name) < math.inf:
                raise UsageError(f"{name} must be positive, not {getattr(self, name)}")
        if not self.cut_off >= 1:
            raise UsageError(f"cut_off must be at least 1, not {self.cut_off}")
        if self.workers is not None and not 1 <= self.workers < math.inf:
            raise UsageError(f"at least one worker is needed, not {self.workers}")
        for name in ("memory_limit", "repeats", "workers"):
            value = getattr(self, name)
            if value is not None:
                if value != int(value):
                    raise UsageError(f"{name} must be a whole number, not {value}")
                object.__setattr__(self, name, int(value))


class MeasurerLostError(TunesmithError):
    """What measures is gone, through no fault of a candidate. What was measured counts."""


class Measurer(Protocol):
    """Measures candidates, possibly many at a time; results come in any order.

    A measurer never raises for a bad candidate: that is a measurement with its outcome class. The
    small way to write one is ``InlineMeasurer``, which needs ``measure`` alone.
    """

    @property
    def machine(self) -> Mapping[str, Any]:
        """The machine that the times are of, with its ``fingerprint``: see ``this_machine``.

        Records are filed under it, and a run goes on from the records of the same machine.
        """
        ...

    @property
    def batch(self) -> int:
        """How many candidates the measurer likes to have in hand so that it never idles.

        0 when no config is left that it could measure: a replay ends with the recorded ones.
        """
        ...

    @property
    def pending(self) -> int:
        """How many submitted candidates have not been collected yet."""
        ...

    def submit(self, candidates: Sequence[Candidate], best: float = math.inf) -> None:
        """Queue candidates. ``best`` is the least seconds of a call so far: see ``cut_off``."""
        ...

    def collect(self, timeout: float) -> list[Measurement]:
        """The measurements finished by now; waits up to ``timeout`` seconds for the first one."""
        ...

    def cancel(self) -> None:
        """Give up what has not been measured yet. What has can still be collected."""
        ...

    def play_off(self, candidates: Sequence[Candidate], rounds: int) -> list[Measurement]:
        """Measure a few again in turn, ``rounds`` times each, one measurement a candidate.

        ``run_seconds[i]`` of each belongs to the same round, so they can be compared in pairs.
        """
        ...

    def round_cost(self, measurement: Measurement) -> float:
        """About how many seconds one round of a play-off takes for a candidate measured so."""
        ...

    @property
    def simulated(self) -> float | None:
        """Seconds that its trials have taken by a simulated clock; None where they really do."""
        ...

    def time_split(self) -> Mapping[str, float]:
        """Wall-clock seconds since the first ``submit``, by what the measurer was doing.

        ``build``: at least one program was being built; ``run``: one was running; ``idle``:
        neither. They add up to the wall clock, which stops with ``close``; or to ``simulated``.
        """
        ...

    def close(self) -> None:
        """Stop all work and leave no process behind. Safe to call twice.

        As after ``cancel``, what has been measured can still be collected.
        """
        ...


class Measurable(Protocol):
    """What the loop works on: one problem, or several alternatives among which it chooses."""

    @property
    def key(self) -> str:
        """Stable identity: records with the same key are comparable and may be resumed."""
        ...

    @property
    def flops(self) -> float | None:
        """Floating-point operations of one call, or None where that means nothing."""
        ...

    @property
    def finalists(self) -> int:
        """How many of the best to measure again at the end; 0 if measurements do not vary."""
        ...

    @property
    def alternatives(self) -> Sequence[Problem]:
        """The problems to choose among; the first one's default is what others compare with."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """JSON-ready identity: operator, target, sketch and version, or the command."""
        ...

    def measurer(self, settings: MeasureSettings) -> Measurer:
        """A new measurer."""
        ...


class Problem(Measurable, Protocol):
    """What a tuner searches: a space, and what else is known of its configs without a trial.

    A problem of one's own inherits from ``BaseProblem``, which has what most do not need.
    """

    @property
    def space(self) -> Space: ...

    @property
    def default(self) -> Config | None:
        """The config to compare with: what a user has without tuning."""
        ...

    def estimates(self, configs: Sequence[Config]) -> Array | None:
        """About how many seconds a call takes, shape (configs,), NaN for those of which there is
        no idea; None for a problem without a model."""
        ...

    def features(self, configs: Sequence[Config], kind: str) -> Array | None:
        """Features of a ``FeatureKind``, shape (configs, features), NaN for what is not known;
        None: the problem has none of this kind."""
        ...

    def kernel(self, config: Config) -> Any:
        """Build the ``Kernel`` of a config. Raises ``UsageError`` where configs are no kernels."""
        ...


class BaseProblem:
    """What a problem has that is no task: no alternatives, no model, no kernels."""

    @property
    def alternatives(self: Problem) -> Sequence[Problem]:
        return (self,)

    def estimates(self, configs: Sequence[Config]) -> Array | None:  # noqa: ARG002 # no model
        return None

    def features(self, configs: Sequence[Config], kind: str) -> Array | None:  # noqa: ARG002
        return None

    def kernel(self, config: Config) -> NoReturn:  # noqa: ARG002 # no kernels
        raise UsageError("only a task has kernels to compile; use the config itself")
