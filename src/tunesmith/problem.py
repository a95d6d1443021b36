"""What a tuning run works on: a space, and a way to measure its configs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from tunesmith.errors import UsageError
from tunesmith.measurement import Measurement
from tunesmith.space import Config, Space


@dataclass(frozen=True)
class MeasureSettings:
    """How trials are measured. Times are in seconds, memory in bytes.

    A candidate that an estimate of a call or two puts at more than ``cut_off`` times the best time
    so far gets that one figure. ``min_repeat_time`` is how long one repeat lasts at least,
    ``repeats`` how many there are; there are more if something on the machine disturbs them.
    ``flush_cache`` empties the caches before each repeat (one call a repeat then), on a GPU before
    each call. ``workers`` is how many programs are built at a time, None: as many as there are
    cores. With ``measure_again`` a program is built and measured even where another config of the
    same run made the same one; otherwise its figures are repeated (``Measurement.repeated``).

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
        if self.cut_off < 1:
            raise UsageError(f"cut_off must be at least 1, not {self.cut_off}")
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"at least one worker is needed, not {self.workers}")


class Measurer(Protocol):
    """Measures configs, possibly many at a time; results come in any order.

    A measurer never raises for a bad candidate: that is a measurement with its outcome class.
    """

    @property
    def batch(self) -> int:
        """How many configs the measurer likes to have in hand so that it never idles.

        0 when there is none left that it could measure: only a record can come to such an end.
        """
        ...

    @property
    def pending(self) -> int:
        """How many submitted configs have not been collected yet."""
        ...

    def submit(self, configs: Sequence[Config]) -> None:
        """Queue configs."""
        ...

    def collect(self, timeout: float) -> list[Measurement]:
        """The measurements finished by now; waits up to ``timeout`` seconds for the first one."""
        ...

    def cancel(self) -> None:
        """Give up all that is pending; nothing of it will be collected."""
        ...

    def play_off(self, configs: Sequence[Config], rounds: int) -> list[Measurement]:
        """Measure a few configs again in turn, ``rounds`` times each, one measurement a config.

        ``run_seconds[i]`` of each belongs to the same round, so they can be compared in pairs.
        """
        ...

    def round_cost(self, measurement: Measurement) -> float:
        """About how many seconds one round of a play-off takes for a config measured like that."""
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
        """Stop all work and leave no process behind. Safe to call twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Measurable(Protocol):
    """What the loop uses of a problem, and what a choice among several problems has as well."""

    @property
    def key(self) -> str:
        """Stable identity: records with the same key are comparable and may be resumed."""
        ...

    @property
    def flops(self) -> float | None:
        """Floating-point operations of one call, or None where that means nothing."""
        ...

    @property
    def default(self) -> Config | None:
        """The config to compare with: what a user has without tuning."""
        ...

    @property
    def finalists(self) -> int:
        """How many of the best to measure again at the end; 0 if measurements do not vary."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """JSON-ready identity: operator, target, sketch and version, or the command."""
        ...

    def measurer(self, settings: MeasureSettings, best: float = math.inf) -> Measurer:
        """A new measurer for this problem; ``best`` is the least seconds known from before."""
        ...


class Problem(Measurable, Protocol):
    """What a tuner is set on. Everything a tuner may use is the space; the loop uses the rest."""

    @property
    def space(self) -> Space: ...
