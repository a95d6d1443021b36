"""Observations in arrays that grow, and the values that a model learns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config
from tunesmith.testing.trials import failed, measured
from tunesmith.tuners.auto.observations import Observations, standardised


def test_all_are_kept_in_their_order() -> None:
    known = Observations(2)
    for number in range(200):
        config = Config({"a": number})
        result = failed(config) if number % 5 == 0 else measured(config, 1.0 + number)
        known.add(result, np.array([number, -number]))
    assert len(known) == 200
    assert known.valid == 160
    assert [config["a"] for config in known.configs] == list(range(200))
    np.testing.assert_array_equal(known.rows[:, 1], -np.arange(200.0))
    assert np.isinf(known.logs[::5]).all()
    assert known.logs[1] == pytest.approx(math.log(2.0))
    assert known.costs.shape == (200,)


def test_it_tells_the_logarithm_of_the_time() -> None:
    known = Observations(1)
    assert known.add(measured(Config({"a": 1}), 0.5), np.zeros(1)) == pytest.approx(math.log(0.5))
    assert known.add(failed(Config({"a": 2})), np.zeros(1)) == math.inf


def test_a_trial_that_cost_nothing_has_a_logarithm() -> None:
    known = Observations(1)
    known.add(Measurement(Config({"a": 1}), Outcome.NO_ERROR, (1.0,)), np.zeros(1))
    assert np.isfinite(known.costs).all()


def test_only_the_best_share_is_told_apart() -> None:
    values = standardised(np.array([3.0, 1.0, math.inf, 2.0, 50.0]), 0.5).values
    assert values[1] < values[3] < values[0]
    assert values[0] == values[4] < values[2]
    assert values.mean() == pytest.approx(0.0)
    assert values.std() == pytest.approx(1.0)
    assert standardised(np.array([2.0, 2.0]), 0.5).values.tolist() == [0.0, 0.0]


def test_values_stand_for_logarithms() -> None:
    logs = np.array([3.0, 1.0, 2.0])
    found = standardised(logs, 1.0)
    np.testing.assert_allclose(found.values_of(logs), found.values)
    with_failure = standardised(np.array([3.0, 1.0, 2.0, math.inf]), 1.0)
    assert with_failure.values_of(np.array([50.0]))[0] == pytest.approx(with_failure.values[3])
    assert [found.log_of(value) for value in found.values.tolist()] == pytest.approx(
        [3.0, 1.0, 2.0]
    )
