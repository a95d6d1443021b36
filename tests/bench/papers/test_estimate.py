"""Figures of runs with their errors, and when runs are past their random start."""

from __future__ import annotations

import math

import pytest

from tests.bench.compare.runs import INF, trace
from tunesmith.bench.papers.estimate import Estimate, mean_over
from tunesmith.bench.papers.start import past_start


def test_figures_of_runs() -> None:
    mean = Estimate.mean([1.0, 2.0, 3.0])
    assert (mean.value, mean.runs) == (2.0, 3)
    assert mean.error == pytest.approx(1 / math.sqrt(3))
    assert Estimate.mean([4.0]) == Estimate(4.0, 0.0, 1)
    # The standard error of a standard deviation is itself over sqrt(2 (n - 1)).
    spread = Estimate.deviation([1.0, 2.0, 3.0])
    assert spread.value == 1.0
    assert spread.error == pytest.approx(0.5)


def test_means_have_errors_of_both() -> None:
    both = mean_over([Estimate(1.0, 0.3, 3), Estimate(2.0, 0.4, 5)])
    assert (both.value, both.runs) == (1.5, 3)
    assert both.error == pytest.approx(0.25)


def test_a_run_is_past_its_start_with_the_next_trial_and_a_valid_one() -> None:
    assert past_start(trace(1.0, 1.0, 1.0), 2) == 9.0
    assert past_start(trace(1.0, 1.0), 2) is None
    assert past_start(trace(INF, INF, INF, 1.0), 1) == 2.0 * 3 + 3.0
    assert past_start(trace(INF, INF), 0) is None
