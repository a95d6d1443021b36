"""All that a report shows, as plain data: nothing here knows of stores, figures or HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Self

from tunesmith.measurement import DeviceState, Measurement, Outcome

BEST_NAME: Final = "best found"
"""What the run's best program is called beside those it is compared with."""


@dataclass(frozen=True, slots=True)
class TrialPoint:
    """One trial: its number from 1, when it ended (seconds since the run began), what it gave.

    ``seconds`` is the median time of one call, None unless the outcome is valid; ``build_time`` and
    ``run_time`` are the wall-clock seconds that the trial cost. ``cut_off`` says that a candidate
    was so slow that it was measured only once. ``device_state`` is that of a GPU.
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
    """A config and the seconds that one call of its program takes.

    ``sketch`` is what made the program, empty where there is no sketch.
    """

    seconds: float
    config: Mapping[str, Any]
    sketch: str = ""

    @classmethod
    def of(cls, measurement: Measurement | None, sketch: str = "") -> Self | None:
        """What a measurement says of its config, None unless it is valid."""
        if measurement is None or not measurement.valid:
            return None
        return cls(measurement.seconds, dict(measurement.config), sketch)


@dataclass(frozen=True, slots=True)
class SketchShare:
    """How many trials a sketch had, and the seconds of its best one, None if none was valid."""

    name: str
    trials: int
    seconds: float | None


def trial_points(measurements: Iterable[tuple[Measurement, float]]) -> tuple[TrialPoint, ...]:
    """Measurements, each with the seconds since the run began, as trials in the order of time."""
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
    """A tuning run as its report tells it.

    ``task`` is the task's key and ``title`` the operator in words. ``flops`` are the operations of
    one call, None where that means nothing: speeds are then calls a second. ``time`` holds the
    seconds of each of ``PHASES``. ``default`` is what a user has without tuning, called
    ``default_name``; ``best`` is the run's own choice, after any play-off. ``peers`` maps other
    programs of the same task (PyTorch) to seconds a call. ``sketches`` are those among which the
    run chose. ``gpu`` names the GPU that programs ran on. ``program`` is the best program's text
    and ``command`` what repeats the run. What is empty is left out.

    A run that found nothing, or measured nothing, is a report too.
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
        """The trials that gave a time."""
        return [trial for trial in self.trials if trial.seconds is not None]

    @property
    def outcomes(self) -> dict[Outcome, int]:
        """How many trials ended in each class, in the order of the classes; none that is 0."""
        found = Counter(trial.outcome for trial in self.trials)
        return {outcome: found[outcome] for outcome in Outcome if found[outcome]}

    @property
    def gpu_idle(self) -> float:
        """The seconds in which no program was running on a GPU."""
        return sum(self.time.values()) - self.time.get("run", 0.0)

    @property
    def improvements(self) -> list[TrialPoint]:
        """The trials that were faster than all before them: the corners of the best-so-far line."""
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
        """Wall-clock seconds of the run, as far as its phases and trials tell."""
        return max([sum(self.time.values()), *(trial.elapsed for trial in self.trials)])

    @property
    def results(self) -> list[tuple[str, float]]:
        """Name and seconds a call of each program that the report compares, fastest first."""
        known = [*self.peers.items()]
        if self.default is not None:
            known.append((self.default_name, self.default.seconds))
        if self.best is not None:
            known.append((BEST_NAME, self.best.seconds))
        return sorted(known, key=lambda result: result[1])
