"""The choice among candidates, by what the model says of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tunesmith.models.gaussian_process import GaussianProcess
from tunesmith.space import Config
from tunesmith.tuners.auto.neighbourhood import Choices
from tunesmith.tuners.auto.observations import Standardised
from tunesmith.tuners.auto.prospects import Prospects

Array = npt.NDArray[np.float64]

LATE, EARLY = Config({"n": 3}), Config({"n": 1})

# Both candidates are as far from a known point as the other one: their deviations are equal.
KNOWN = np.array([[0.0], [1.0]])
ROWS = np.array([[0.75], [0.25]])

TREND = np.array([0.25, -0.5])
VALUES = Standardised(np.empty(0), middle=3.0, deviation=0.5)


def prospects(values: Array, *, share: float, trend: Array | None = None) -> Prospects:
    """Of two candidates. ``values`` are those at the known points, the early and the late one,
    shape (2, 3): of speed, of the logarithm of a trial's cost, and of whether it works."""
    model = GaussianProcess(1)
    model.condition(KNOWN, values)
    found = np.zeros(2) if trend is None else trend
    choices, posterior = Choices([LATE, EARLY], ROWS), model.posterior(ROWS)
    return Prospects(choices, posterior, VALUES, found, cost=2.0, share=share, best=0.5)


def test_of_equally_good_ones_the_one_that_is_likelier_to_work_is_taken() -> None:
    values = np.array([[0.0, 0.0, 0.4], [0.0, 0.0, -0.4]])
    assert prospects(values, share=0.5).take(()) == 1
    assert prospects(values[::-1], share=0.5).take(()) == 0


def test_where_all_work_that_makes_no_difference() -> None:
    """The first of equal ones is taken."""
    values = np.array([[0.0, 0.0, 0.4], [0.0, 0.0, -0.4]])
    assert prospects(values, share=1.0).take(()) == 0


def test_one_that_surely_fails_is_not_ruled_out() -> None:
    """It promises two hundred times as much, with the least chance of one in fifty."""
    values = np.array([[0.0, 0.0, 3.0], [0.0, 0.0, -4.0]])
    assert prospects(values, share=0.5, trend=np.array([-100.0, 0.0])).take(()) == 0
    assert prospects(values, share=0.5, trend=np.array([-10.0, 0.0])).take(()) == 1


def test_of_equally_good_ones_the_one_that_costs_less_is_taken() -> None:
    values = np.array([[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]])
    assert prospects(values, share=1.0).take(()) == 1
    assert prospects(values[::-1], share=1.0).take(()) == 0


def test_what_was_seen_is_not_taken_again() -> None:
    found = prospects(np.zeros((2, 3)), share=1.0)
    assert found.take({LATE}) == 1
    assert found.taken == 1
    assert found.take({LATE, EARLY}) is None
    assert found.taken == 1


def test_predictions_are_in_units_that_stay() -> None:
    """Logarithms of seconds, and a chance: the trend, the mean cost and the share are in them."""
    found = prospects(np.array([[0.0, 0.0, 0.4], [0.0, 0.0, -0.4]]), share=0.5, trend=TREND)
    for number in range(2):
        value, cost, works = found.posterior.means[number]
        expected = [3.0 + 0.5 * (value + TREND[number]), 2.0 + cost, 0.5 + works]
        np.testing.assert_allclose(found.predicted(number), expected)
