"""The content of a report as plain data, independent of stores, figures and HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Self

from tunesmith.measurement import DeviceState, Measurement, Outcome

BEST_NAME: Final = "best found"
"""The name of the run's best program among those it is compared with."""


@dataclass(frozen=True, slots=True)
class TrialPoint:
    """One trial: its number from 1, and when it ended (``elapsed``, seconds since the run began).

    ``seconds`` is the median time of one call, None unless the outcome is valid; ``build_time`` and
    ``run_time`` are the wall-clock seconds of the trial. ``cut_off`` means that the candidate was
    so slow that it was measured only once. ``device_state`` is that of a GPU.
    """

    index: int
    elapsed: float
    outcome: Outcome
    seconds: float | None = None
    build_time: float = 0.0
    run_time: float = 0.0
    cut_off: bool = False
    device_state: DeviceState | None = None


@dataclass(frozen=True, slots=True)
class MeasuredConfig:
    """A config, the seconds of one call of its program, and its sketch (empty if it has none)."""

    seconds: float
    config: Mapping[str, Any]
    sketch: str = ""

    @classmethod
    def of(cls, measurement: Measurement | None, sketch: str = "") -> Self | None:
        """From a measurement; None unless it is valid."""
        if measurement is None or not measurement.valid:
            return None
        return cls(measurement.seconds, dict(measurement.config), sketch)


@dataclass(frozen=True, slots=True)
class SketchShare:
    """The number of a sketch's trials, and the seconds of its best one, None if none was valid."""

    name: str
    trials: int
    seconds: float | None


def trial_points(measurements: Iterable[tuple[Measurement, float]]) -> tuple[TrialPoint, ...]:
    """Trials in chronological order, from measurements and the seconds since the run began."""
    timed = sorted(measurements, key=lambda pair: pair[1])
    return tuple(
        TrialPoint(
            index=index,
            elapsed=elapsed,
            outcome=measurement.outcome,
            seconds=measurement.seconds if measurement.valid else None,
            build_time=measurement.build_time,
            run_time=measurement.run_time,
            cut_off=measurement.cut_off,
            device_state=measurement.device_state,
        )
        for index, (measurement, elapsed) in enumerate(timed, start=1)
    )


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """The content of the report of a tuning run.

    ``task`` is the task's key and ``title`` the operator in words. ``flops`` are the operations of
    one call; if that is None, speeds are in calls per second. ``time`` holds the seconds of each of
    ``PHASES``. ``default`` is the config without tuning, called ``default_name``; ``best`` is the
    run's choice, after any play-off. ``peers`` maps other programs of the same task (PyTorch) to
    seconds per call. ``sketches`` are those among which the run chose. ``gpu`` is the name of the
    GPU that programs ran on. ``program`` is the text of the best program, and ``command`` repeats
    the run. Empty fields are left out of the page.

    A run without valid or even without any trials has a report, too.
    """

    task: str
    title: str
    target: str
    machine: str
    tuner: str
    started: datetime
    budget: str
    stopped: str
    flops: float | None
    trials: Sequence[TrialPoint]
    time: Mapping[str, float]
    default: MeasuredConfig | None = None
    best: MeasuredConfig | None = None
    default_name: str = "default schedule"
    peers: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    sketches: Sequence[SketchShare] = ()
    gpu: str = ""
    program: str = ""
    command: str = ""

    @property
    def valid(self) -> list[TrialPoint]:
        """The valid trials."""
        return [trial for trial in self.trials if trial.seconds is not None]

    @property
    def outcomes(self) -> dict[Outcome, int]:
        """The number of trials with each outcome that occurred, in the order of the outcomes."""
        found = Counter(trial.outcome for trial in self.trials)
        return {outcome: found[outcome] for outcome in Outcome if found[outcome]}

    @property
    def gpu_idle(self) -> float:
        """The seconds in which no program ran on the GPU."""
        return sum(self.time.values()) - self.time.get("run", 0.0)

    @property
    def improvements(self) -> list[TrialPoint]:
        """The trials that were faster than all before them."""
        corners: list[TrialPoint] = []
        fastest = float("inf")
        for trial in self.valid:
            assert trial.seconds is not None
            if trial.seconds < fastest:
                fastest = trial.seconds
                corners.append(trial)
        return corners

    @property
    def elapsed(self) -> float:
        """The wall-clock seconds of the run, from its phases and trials."""
        return max([sum(self.time.values()), *(trial.elapsed for trial in self.trials)])

    @property
    def results(self) -> list[tuple[str, float]]:
        """Name and seconds per call of each program that the report compares, fastest first."""
        known = [*self.peers.items()]
        if self.default is not None:
            known.append((self.default_name, self.default.seconds))
        if self.best is not None:
            known.append((BEST_NAME, self.best.seconds))
        return sorted(known, key=lambda result: result[1])
