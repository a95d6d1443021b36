"""Recorded spaces as problems: replays recorded measurements with a simulated clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measure.identity import digest, identify
from tunesmith.measure.inline import InlineMeasurer
from tunesmith.measure.recorded.recording import Recording, load_recording
from tunesmith.measure.recorded.t4_reader import Seconds
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.problem import BaseProblem, MeasureSettings
from tunesmith.space import Config, Space

# A search without a recorded config in this many consecutive proposals is stopped.
MOST_UNKNOWN = 100_000


class ReplayProblem(BaseProblem):
    """A space whose configs were measured before, in a T4 file.

    ``space`` is the space or its T1 file, by default ``space.T1.json`` beside the recording. Every
    repeat of a config takes its recorded time, so there is no play-off (``finalists`` is 0) and no
    ``MeasureSettings`` applies. Replay does not wait: a simulated clock advances by the recorded
    cost of a trial and by the real time of the tuner. A budget of seconds is in this clock.

    A recording may be sparse, with only some configs of the space. A config that is not recorded is
    not a trial: it costs nothing, the tuner never observes it, and ``unknown`` counts it. A run
    ends when all recorded configs were tried.

    ``seconds`` and ``costs`` are arrays over the recorded ``configs``. Pickling transfers only the
    paths, and a process reads each file once. Raises ``UsageError`` for a recording that cannot be
    used; see ``load_recording``.
    """

    flops = None
    default = None
    finalists = 0

    def __init__(self, path: str | Path, space: str | Path | Space | None = None) -> None:
        self.path = Path(path).absolute()
        self.unknown = 0
        self._given = Path(space).absolute() if isinstance(space, str | Path) else space
        self.recording: Recording = load_recording(self.path, self._given)

    @property
    def name(self) -> str:
        """The names of the recording's folder and file, such as ``convolution/A100``."""
        return f"{self.path.parent.name}/{self.path.name.split('.')[0]}"

    @property
    def key(self) -> str:
        return f"replay:{self.name}:{digest([self.recording.digest, identify(self.space)])}"

    @property
    def space(self) -> Space:
        return self.recording.space

    @property
    def configs(self) -> Sequence[Config]:
        """The recorded configs."""
        return self.recording.configs

    @property
    def seconds(self) -> Seconds:
        """Seconds of a call of each config, infinite if invalid, shape (len(configs),)."""
        return self.recording.seconds

    @property
    def costs(self) -> Seconds:
        """Seconds of each config's trial, shape (len(configs),)."""
        return self.recording.costs

    @property
    def complete(self) -> bool:
        """Whether every config of the space is recorded."""
        return self.recording.size == len(self.configs)

    def describe(self) -> Mapping[str, Any]:
        return {
            "kind": "replay",
            "name": self.name,
            "record": self.recording.digest,
            "space": identify(self.space),
        }

    def measurement(self, config: Config) -> Measurement:
        """A config's recorded measurement. Raises ``UsageError`` if there is none."""
        row = self.recording.row(config)
        if row is None:
            self.space.check(config)
            raise UsageError(
                f"{config.key} is not among the {self.extent} that {self.path} records: how fast "
                "it is, or whether it fails, is unknown"
            )
        return self._measurement(row)

    def _measurement(self, row: int) -> Measurement:
        recording = self.recording
        outcome = Outcome(int(recording.outcomes[row]))
        valid = outcome is Outcome.NO_ERROR
        return Measurement(
            config=recording.configs[row],
            outcome=outcome,
            run_seconds=(float(recording.seconds[row]),) if valid else (),
            build_time=float(recording.build_times[row]),
            run_time=float(recording.run_times[row]),
            message="" if valid else f"recorded: {outcome.meaning}",
        )

    @property
    def extent(self) -> str:
        """The recorded part of the space in words."""
        size = self.recording.size
        return f"{len(self.configs):,} of {'countless' if size is None else f'{size:,}'} configs"

    def measurer(self, settings: MeasureSettings) -> ReplayMeasurer:  # noqa: ARG002 # see the class
        return ReplayMeasurer(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return ReplayProblem, (self.path, self._given)


class ReplayMeasurer(InlineMeasurer):
    """Looks configs up, one per call in the order of their proposals, and adds up their costs."""

    def __init__(self, problem: ReplayProblem) -> None:
        super().__init__()
        self._problem = problem
        self._asked = np.zeros(len(problem.configs), dtype=bool)
        self._left = len(problem.configs)
        self._unknown_in_a_row = 0
        self._spent = {"build": 0.0, "run": 0.0}

    @property
    def batch(self) -> int:
        return 1 if self._left else 0

    @property
    def simulated(self) -> float:
        return sum(self._spent.values())

    def time_split(self) -> Mapping[str, float]:
        return {**self._spent, "idle": 0.0}

    def collect(self, timeout: float) -> list[Measurement]:  # noqa: ARG002 # nothing is waited for
        """The measurement of the next recorded config; others are counted and dropped.

        Raises ``TunesmithError`` after too many consecutive proposals that are not recorded.
        """
        while self._queue:
            candidate = self._queue.popleft()
            if self._problem.recording.row(candidate.config) is not None:
                self._unknown_in_a_row = 0
                return [self.measure(candidate)]
            self._problem.unknown += 1
            self._unknown_in_a_row += 1
        if self._unknown_in_a_row >= MOST_UNKNOWN:
            raise TunesmithError(
                f"{self._problem.path} records {self._problem.extent}, and none of the last "
                f"{MOST_UNKNOWN:,} that were proposed: record more, or search a smaller space"
            )
        return []

    def measure(self, candidate: Candidate) -> Measurement:
        measurement = self._problem.measurement(candidate.config)
        row = self._problem.recording.row(candidate.config)
        if not self._asked[row]:
            self._asked[row] = True
            self._left -= 1
        self._spent["build"] += measurement.build_time
        self._spent["run"] += measurement.run_time
        return measurement
