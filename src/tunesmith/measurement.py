"""The result of a trial: its outcome, its run times, and its cost."""

from __future__ import annotations

import enum
import logging
import math
import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from tunesmith.errors import one_line

if TYPE_CHECKING:
    from tunesmith.space import Config

_LOGGER = logging.getLogger("tunesmith")


class Outcome(enum.Enum):
    """The nine classes of a trial (NoSE, Table I). The value is the code used there."""

    NO_ERROR = 0
    INSTANTIATION_ERROR = 1
    COMPILE_HOST = 2
    COMPILE_DEVICE = 3
    RUNTIME_DEVICE = 4
    WRONG_ANSWER = 5
    BUILD_TIMEOUT = 6
    RUN_TIMEOUT = 7
    UNKNOWN_ERROR = 8

    @property
    def meaning(self) -> str:
        """The outcome in words."""
        return _MEANINGS[self]


_MEANINGS = {
    Outcome.NO_ERROR: "valid program, measured",
    Outcome.INSTANTIATION_ERROR: "the sketch cannot make a program of this config",
    Outcome.COMPILE_HOST: "the compiler failed on the host code",
    Outcome.COMPILE_DEVICE: "the compiler failed on the device code",
    Outcome.RUNTIME_DEVICE: "the program failed while it ran",
    Outcome.WRONG_ANSWER: "the output differs from the operator's reference",
    Outcome.BUILD_TIMEOUT: "the build took longer than allowed",
    Outcome.RUN_TIMEOUT: "the run took longer than allowed",
    Outcome.UNKNOWN_ERROR: "the trial failed for a reason of unknown nature",
}


REPEATED = "the same program as in an earlier trial of the run, whose figures these are"
"""The message of a valid trial that was neither built nor run."""

LONGEST_PHASE = 7 * 86400.0
"""Seconds of a trial's build or run beyond which they are no figures: a week."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A config and the name of its sketch.

    ``sketch`` is empty if the problem has no sketches, such as a Python function or a command.
    """

    config: Config
    sketch: str = ""


@dataclass(frozen=True, slots=True)
class DeviceState:
    """A GPU's clocks (MHz) and chip temperature right after a trial; None if not readable."""

    sm_mhz: int | None = None
    memory_mhz: int | None = None
    celsius: int | None = None

    def to_json(self) -> dict[str, int | None]:
        """A JSON-ready mapping, for ``DeviceState(**mapping)``."""
        return {"sm_mhz": self.sm_mhz, "memory_mhz": self.memory_mhz, "celsius": self.celsius}


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result of one trial.

    ``run_seconds`` holds the mean seconds of a call for each repeat; it is empty unless the outcome
    is ``NO_ERROR``. ``build_time`` and ``run_time`` are the wall-clock seconds of the trial's
    phases. ``cut_off`` means that the candidate was measured only once: it was too slow beside the
    best, or for the time that a run may take. ``device_state`` is that of a GPU, if it can be read.
    ``sketch`` is that of the candidate.
    """

    config: Config
    outcome: Outcome
    run_seconds: tuple[float, ...] = ()
    build_time: float = 0.0
    run_time: float = 0.0
    message: str = ""
    program_hash: str = ""
    cut_off: bool = False
    device_state: DeviceState | None = None
    sketch: str = ""

    @property
    def candidate(self) -> Candidate:
        """What was measured."""
        return Candidate(self.config, self.sketch)

    def to_json(self) -> dict[str, Any]:
        """All fields except the candidate as a JSON-ready mapping, for ``from_json``."""
        state = self.device_state
        return {
            "outcome": self.outcome.value,
            "run_seconds": [float(seconds) for seconds in self.run_seconds],
            "build_time": float(self.build_time),
            "run_time": float(self.run_time),
            "message": self.message,
            "program_hash": self.program_hash,
            "cut_off": bool(self.cut_off),
            "device_state": None if state is None else state.to_json(),
        }

    @classmethod
    def from_json(cls, candidate: Candidate, data: Mapping[str, Any]) -> Measurement:
        """The inverse of ``to_json``; ``data`` may have other entries, which are ignored."""
        state = data["device_state"]
        return cls(
            config=candidate.config,
            sketch=candidate.sketch,
            outcome=Outcome(data["outcome"]),
            run_seconds=tuple(data["run_seconds"]),
            build_time=data["build_time"],
            run_time=data["run_time"],
            message=data["message"],
            program_hash=data["program_hash"],
            cut_off=bool(data["cut_off"]),
            device_state=None if state is None else DeviceState(**state),
        )

    def checked(self) -> Measurement:
        """The same if all its numbers make sense, as those of a measurer of others may not.

        A valid trial without a time of a call, or with one that is no finite number above 0,
        becomes one that failed, and its message says so. A phase that took less than 0 seconds,
        or whose time is no number, counts as 0; one longer than ``LONGEST_PHASE`` counts as that.
        What is odd about phases is logged, once in a process.
        """
        found = self
        wrong = [it for it in self.run_seconds if not 0.0 < _number(it) < math.inf]
        if self.valid and self.run_seconds and not wrong and math.isinf(self.seconds):
            wrong = [max(self.run_seconds)]  # of two such the mean is infinite
        if self.valid and (wrong or not self.run_seconds):
            what = f"a call of {_shown(wrong[0])} seconds" if wrong else "no time of a call"
            found = replace(
                self,
                outcome=Outcome.UNKNOWN_ERROR,
                run_seconds=(),
                message=f"the measurer reports {what}",
            )
        phases = self.build_time, self.run_time
        build, run = _phase("build", self.build_time), _phase("run", self.run_time)
        return found if phases == (build, run) else replace(found, build_time=build, run_time=run)

    @property
    def valid(self) -> bool:
        """Whether the trial produced a usable time."""
        return self.outcome is Outcome.NO_ERROR

    @property
    def repeated(self) -> bool:
        """Whether the figures are from an earlier trial of the run with the same program."""
        return self.valid and self.message == REPEATED

    @property
    def seconds(self) -> float:
        """Median seconds of one call; infinity for an invalid trial."""
        return statistics.median(self.run_seconds) if self.valid else math.inf

    @property
    def throughput(self) -> float:
        """Calls per second, which tuners maximise, as a finite number; 0 for an invalid trial."""
        return min(1.0 / self.seconds, sys.float_info.max) if self.valid else 0.0

    def summary(self, flops: float | None) -> dict[str, Any]:
        """``seconds``, ``gflops`` (None without ``flops``) and ``config``, JSON-ready.

        Only for a valid trial.
        """
        gflops = None if flops is None else flops / self.seconds / 1e9
        return {"seconds": self.seconds, "gflops": gflops, "config": self.config.to_json()}


def _number(value: Any) -> float:
    """As a float; NaN for what is no number, infinity for one that is too large."""
    if isinstance(value, bool | str | bytes):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        return math.nan


def _shown(value: Any) -> str:
    """A number, or what is none, in a message."""
    number = _number(value)
    return one_line(repr(value)) if math.isnan(number) else repr(number)


def _phase(name: str, seconds: object) -> float:
    """Seconds of a phase that make sense."""
    number = _number(seconds)
    if 0.0 <= number <= LONGEST_PHASE:
        return number
    if number > LONGEST_PHASE:
        _warn_of_phase(name, "longer than a week", "a week")
        return LONGEST_PHASE
    _warn_of_phase(name, "less than 0" if number < 0.0 else "no number", "0")
    return 0.0


@cache
def _warn_of_phase(name: str, oddness: str, counted: str) -> None:
    """Log what is odd about the times of a phase; not again."""
    _LOGGER.warning(
        "tunesmith: a trial has a %s time that is %s; it counts as %s: correct what measured it",
        name,
        oddness,
        counted,
    )
