"""What a tuning run returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tunesmith.budget import Stop
from tunesmith.errors import StoreError, TunesmithError
from tunesmith.kernel.kernel import Kernel
from tunesmith.measurement import Measurement, Outcome
from tunesmith.notebook import html_table
from tunesmith.problem import Measurable, Problem
from tunesmith.reports import format as fmt
from tunesmith.space import Config
from tunesmith.store import Session

# More classes of failure than this make no line that anyone reads.
_MOST_CAUSES = 3


@dataclass(frozen=True)
class Found:
    """A measured config of a problem. ``seconds`` is the median time of one call."""

    problem: Problem
    measurement: Measurement

    @property
    def config(self) -> Config:
        return self.measurement.config

    @property
    def seconds(self) -> float:
        return self.measurement.seconds

    @property
    def gflops(self) -> float | None:
        """10^9 floating-point operations a second, None where the problem counts none."""
        return None if self.problem.flops is None else self.problem.flops / self.seconds / 1e9

    def compile(self) -> Kernel:
        """Build the kernel of this config.

        Raises ``UsageError`` unless the problem is a task, and ``TunesmithError`` if it cannot be
        built.
        """
        kernel: Kernel = self.problem.kernel(self.config)
        return kernel

    @property
    def sketch(self) -> str:
        """The name of the sketch, empty where the problem has none."""
        return self.measurement.sketch

    def to_json(self) -> dict[str, Any]:
        """``seconds``, ``gflops`` and ``config``, and the ``sketch`` of a task."""
        found = self.measurement.summary(self.problem.flops)
        return {**found, "sketch": self.sketch} if self.sketch else found


class HasStored(Protocol):
    """The outcome of a run that may have failed to store trials."""

    @property
    def failure(self) -> str: ...

    @property
    def rescued(self) -> Path | None: ...


class HasEnded(HasStored, Protocol):
    """The same, of one that Ctrl-C may have ended."""

    @property
    def stopped(self) -> Stop: ...


def check_finished(result: HasEnded) -> None:
    """Raise ``KeyboardInterrupt`` if Ctrl-C ended a run, and like ``check_stored``."""
    if result.stopped is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    check_stored(result)


def check_stored(result: HasStored) -> None:
    """Raise ``StoreError`` if not all trials of a run could be stored."""
    if result.failure:
        raise StoreError(not_stored(result.failure, result.rescued))


def not_stored(failure: str, rescued: Path | None) -> str:
    """Why the store did not take all trials, and what is to be done with the file of the rest."""
    return failure + (f"; 'tunesmith import {rescued}' adds the rest" if rescued else "")


@dataclass(frozen=True)
class SketchTrials:
    """How many trials a sketch had, and the least seconds of a call that one of them gave.

    ``best_seconds`` is None where none was valid.
    """

    trials: int
    best_seconds: float | None


@dataclass(frozen=True)
class Result:
    """The outcome of a run, with what other runs of the same problem left in the store.

    ``problem`` is what was tuned: for a task with several sketches a ``Portfolio`` of them, while
    ``default`` and ``best`` have the problem with the sketch that they are by. These are None if no
    such config was measured validly; without a ``best``, ``reason`` says why. ``failures`` has what
    the last trial of each failing class said. ``outcomes`` counts all trials by class, ``repeated``
    the valid ones whose program had been measured before, ``resumed`` those of earlier runs,
    ``shared`` those of other runs that went on at the same time, ``sketches`` those of a task by
    sketch; ``time`` holds this call's seconds by phase and ``total``. ``rescued`` is the file that
    holds the records that the store did not take, ``failure`` says why it did not. ``session`` is
    what the store knows the run by. ``lost`` says what has become of that which measures, if
    nothing of it is left. ``advice`` says what a longer run would be good for, where time ended one
    that was hardly more than its tuner's random start.
    """

    problem: Measurable
    best: Found | None
    default: Found | None
    trials: int
    outcomes: Mapping[Outcome, int]
    time: Mapping[str, float]
    stopped: Stop
    resumed: int = 0
    shared: int = 0
    advice: str = ""
    failure: str = ""
    rescued: Path | None = None
    session: Session | None = None
    sketches: Mapping[str, SketchTrials] = field(default_factory=dict)
    failures: Mapping[Outcome, str] = field(default_factory=dict)
    repeated: int = 0
    lost: str = ""

    def compile(self) -> Kernel:
        """Build the kernel of the best config.

        Raises ``TunesmithError`` with the ``reason`` if there is none, and as ``Found.compile``.
        """
        if self.best is None:
            raise TunesmithError(self.reason)
        return self.best.compile()

    @property
    def reason(self) -> str:
        """One line that says why nothing valid was measured; empty where something was."""
        if self.best is not None:
            return ""
        failed = sorted(self.failures, key=lambda outcome: -self.outcomes[outcome])
        causes = [
            f"{self.outcomes[outcome]} {outcome.name} ({self.failures[outcome] or 'no message'})"
            for outcome in failed[:_MOST_CAUSES]
        ]
        why = "; ".join(causes) or self.lost or self.stopped.meaning
        return f"no valid config was found in {self.trials} trials: {why}"

    @property
    def own_trials(self) -> int:
        """How many trials this run has measured itself."""
        return self.trials - self.resumed - self.shared

    @property
    def valid(self) -> int:
        """How many trials gave a time."""
        return self.outcomes.get(Outcome.NO_ERROR, 0)

    def _repr_html_(self) -> str:
        flops = self.problem.flops
        rows: list[tuple[str, str]] = []
        for name, found in (("best", self.best), ("default", self.default)):
            if found is not None:
                amounts = fmt.seconds(found.seconds), fmt.speed(found.seconds, flops)
                rows.append((name, ", ".join(filter(None, [*amounts, found.sketch]))))
        if self.best is not None and self.default is not None:
            rows.append(("gain", fmt.gain(self.default.seconds, self.best.seconds)))
        if self.best is None:
            rows.append(("reason", self.reason))
        rows.append(("trials", f"{fmt.count(self.trials)}, {fmt.count(self.valid)} valid"))
        rows.append(("stopped", self.stopped.meaning))
        if self.best is not None:
            rows.append(("config", fmt.listed(self.best.config)))
        return html_table(self.problem.key, ("", ""), rows)

    def to_json(self) -> dict[str, Any]:
        """What ``tunesmith tune --json`` prints."""
        sketches = {name: asdict(trials) for name, trials in self.sketches.items()}
        rescued = None if self.rescued is None else str(self.rescued)
        return {
            "task": self.problem.key,
            "target": self.problem.describe().get("target"),
            "trials": self.trials,
            "valid": self.valid,
            "repeated": self.repeated,
            "outcomes": {outcome.name: count for outcome, count in self.outcomes.items()},
            "time": dict(self.time),
            "default": None if self.default is None else self.default.to_json(),
            "best": None if self.best is None else self.best.to_json(),
            "stopped": self.stopped.value,
            "resumed": self.resumed,
            "shared": self.shared,
            **({"sketches": sketches} if sketches else {}),
            **({"reason": self.reason} if self.best is None else {}),
            **({"lost": self.lost} if self.lost else {}),
            **({"failure": self.failure, "rescued": rescued} if self.failure else {}),
        }
