"""What the tests of several tuners check of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from tunesmith.errors import UsageError
from tunesmith.space import Categorical, Factorization, Permutation, Space
from tunesmith.testing.trials import assert_fresh, distance_cost, drive, measured
from tunesmith.tuners import Tuner


def assert_refused(make: Callable[..., Tuner], options: Mapping[str, object], reason: str) -> None:
    """Fail unless a tuner of these options is refused, in one line that gives the reason."""
    with pytest.raises(UsageError) as caught:
        make(**options)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def assert_searches_huge_parameters(tuner: Tuner, trials: int) -> None:
    """Fail unless a tuner proposes new and valid configs where parameters have many values."""
    space = Space(
        [
            Factorization("x", 2**10 * 3**5 * 5 * 7, 16),
            Permutation("order", tuple(range(20))),
            Categorical("c", tuple(range(5000))),
        ]
    )
    cost = distance_cost(space)
    assert_fresh(space, drive(tuner.start(space, 0), trials, lambda c: measured(c, cost(c))))
