"""Measuring in the calling process: what a bad answer costs."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.scripted import config, line
from tunesmith.measure.inline import InlineMeasurer
from tunesmith.measurement import Candidate, Measurement, Outcome


class Answering(InlineMeasurer):
    """Says what it was made with of any candidate."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def measure(self, candidate: Candidate) -> Measurement:
        if isinstance(self.answer, tuple):
            return Measurement(candidate.config, Outcome.NO_ERROR, self.answer)
        return self.answer  # type: ignore[no-any-return] # not what it should return


@pytest.mark.parametrize(
    "answer",
    [(), (None,), ("1.0",), (-1.0,), (math.nan,), (math.inf,), (0.0,), None, 1.0],
    ids=repr,
)
def test_a_bad_answer_costs_its_trial_alone(answer: Any) -> None:
    with Answering(answer) as measurer:
        (first,) = line(1).enumerate()
        assert first == config(1)
        measurer.submit([Candidate(first)])
        (found,) = measurer.collect(1.0)
        assert found.outcome is Outcome.UNKNOWN_ERROR
        assert found.message
        assert measurer.best == math.inf
        (again,) = measurer.play_off([Candidate(first)], rounds=3)
        assert again.outcome is Outcome.UNKNOWN_ERROR
        measurer.answer = (2.0,)
        measurer.submit([Candidate(first)])
        assert [it.seconds for it in measurer.collect(1.0)] == [2.0]
        assert measurer.best == 2.0
