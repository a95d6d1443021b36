"""A problem with several sketches, whose trials a simulated fleet makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tunesmith.bench.compare.simulated import Answers
from tunesmith.bench.scale.fleet import SimulatedFleet
from tunesmith.bench.synthetic.families import synthetic
from tunesmith.measure.identity import digest, identify
from tunesmith.measurement import Candidate, Measurement
from tunesmith.problem import BaseProblem, MeasureSettings

SYNTHETIC = ("synthetic.mixed.0", "synthetic.mixed.1", "synthetic.mixed.3")
"""Of 10^12 configs each, of which 10 %, 30 % and 10 % fail."""


class KnownSketch(BaseProblem):
    """A space whose measurements are known, as that of a sketch."""

    flops = None
    default = None
    finalists = 0

    def __init__(self, name: str, answers: Answers, fleet: SimulatedFleet) -> None:
        self.name = name
        self.space = answers.new_space()
        self.key = f"scale:{name}:{digest(identify(self.space))}"
        self._fleet = fleet

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "scale", "sketch": {"name": self.name, "version": 1}}

    def measurer(self, settings: MeasureSettings) -> SimulatedFleet:  # noqa: ARG002 # none applies
        return self._fleet


class KnownProblem:
    """Several of them, measured by a fleet that knows them all: see ``answer_of``."""

    flops = None
    finalists = 0

    def __init__(self, sketches: Mapping[str, Answers], fleet: SimulatedFleet) -> None:
        self.fleet = fleet
        self.alternatives: Sequence[KnownSketch] = [
            KnownSketch(name, answers, fleet) for name, answers in sketches.items()
        ]
        self.key = f"scale:{digest([each.key for each in self.alternatives])}"

    def describe(self) -> Mapping[str, Any]:
        described = [each.describe() for each in self.alternatives]
        return {**described[0], "sketches": [each["sketch"] for each in described]}

    def measurer(self, settings: MeasureSettings) -> SimulatedFleet:  # noqa: ARG002 # none applies
        return self.fleet


class AnswersOf:
    """What a trial of a candidate gives, whichever sketch it is of."""

    def __init__(self, sketches: Mapping[str, Answers]) -> None:
        self._sketches = sketches

    def __call__(self, candidate: Candidate) -> Measurement:
        measurement = self._sketches[candidate.sketch].measurement(candidate.config)
        assert measurement is not None, "a simulated device needs a space that is fully recorded"
        return measurement


def synthetic_sketches() -> dict[str, Answers]:
    """The synthetic spaces by name."""
    return {name: synthetic(name) for name in SYNTHETIC}
