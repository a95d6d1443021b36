"""What all searches share: what was seen, and drawing what was not."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

import pytest

from tunesmith.errors import SpaceError, UsageError
from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config, Constraint, Ordinal, Space
from tunesmith.testing.trials import assert_fresh, failed, measured, space_named
from tunesmith.tuners import Genetic, Random, fitness


class WatchedSpace(Space):
    """A space that counts what it is asked for."""

    draws = 0
    enumerated = 0

    def sample(self, rng: object) -> Config:
        self.draws += 1
        return super().sample(rng)  # type: ignore[arg-type] # handed on as it came

    def enumerate(self) -> Iterator[Config]:
        for config in super().enumerate():
            self.enumerated += 1
            yield config


class UncountableSpace(WatchedSpace):
    """A space whose valid configs are too many to count."""

    @property
    def size(self) -> int:
        raise SpaceError("too many configs to count")


def digits(count: int) -> tuple[Ordinal, Ordinal]:
    return Ordinal("a", tuple(range(count))), Ordinal("b", tuple(range(count)))


# --- Fresh configs


@pytest.mark.parametrize("tuner", [Random(), Genetic()])
def test_a_vast_space_is_never_enumerated(tuner: Random | Genetic) -> None:
    space = WatchedSpace(space_named("billions").parameters)
    search = tuner.start(space, 0)
    assert_fresh(space, search.propose(300))
    assert space.enumerated == 0
    assert space.draws <= 400


def test_the_end_of_a_space_costs_in_proportion_to_the_space() -> None:
    space = WatchedSpace(digits(40))
    search = Random().start(space, 0)
    proposed = [config for _ in range(400) for config in search.propose(4)]
    assert_fresh(space, proposed)
    assert len(proposed) == 1600
    assert space.enumerated == 1600
    assert space.draws <= 20 * 1600


def test_an_exhausted_search_no_longer_draws() -> None:
    space = WatchedSpace(digits(4))
    search = Random().start(space, 0)
    assert len(search.propose(100)) == 16
    draws = space.draws
    assert search.propose(100) == []
    assert space.draws == draws


def test_observed_configs_are_not_handed_out_of_the_enumerated_rest() -> None:
    space = Space(digits(4))
    search = Random().start(space, 0)
    first = search.propose(15)
    [last] = set(space.enumerate()) - set(first)
    search.observe([measured(last, 1.0)])
    assert search.propose(1) == []


def test_few_valid_configs_in_a_vast_product_are_all_found() -> None:
    space = WatchedSpace(digits(1000), [Constraint("a + b == 9")])
    search = Random().start(space, 0)
    proposed = search.propose(1000)
    assert_fresh(space, proposed)
    assert len(proposed) == 10


def test_a_space_that_cannot_be_counted_ends_too() -> None:
    space = UncountableSpace(digits(4))
    search = Random().start(space, 0)
    assert len(search.propose(100)) == 16
    assert search.propose(1) == []
    assert space.enumerated == 0


def test_a_space_without_a_valid_config_says_so() -> None:
    search = Random().start(Space(digits(3), [Constraint("a + b > 9")]), 0)
    with pytest.raises(SpaceError, match="no config satisfies"):
        search.propose(1)


# --- Observations


def test_a_config_of_another_space_is_refused_before_anything_is_learned() -> None:
    search = Genetic().start(Space(digits(4)), 0)
    mine, other = Config({"a": 1, "b": 1}), Config({"a": 1, "c": 1})
    with pytest.raises(SpaceError) as caught:
        search.observe([measured(mine, 1.0), measured(other, 1.0)])
    assert '{"a":1,"c":1}' in str(caught.value)
    assert "\n" not in str(caught.value)
    assert search.seen == set()
    assert search.arrived == []


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(UsageError, match="the seed is -1: give 0 or more"):
        Random().start(Space(digits(2)), -1)


# --- Fitness


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.25, 4.0),
        (math.inf, 0.0),
        (math.nan, 0.0),
        (0.0, 0.0),
        (-1.0, 0.0),
        (5e-324, sys.float_info.max),
    ],
)
def test_fitness_is_a_finite_throughput(seconds: float, expected: float) -> None:
    assert fitness(measured(Config({"a": 1}), seconds)) == expected


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.NO_ERROR])
def test_failures_have_no_fitness(outcome: Outcome) -> None:
    assert fitness(failed(Config({"a": 1}), outcome)) == 0.0


def test_the_median_repeat_counts() -> None:
    measurement = Measurement(Config({"a": 1}), Outcome.NO_ERROR, run_seconds=(9.0, 0.5, 0.1))
    assert fitness(measurement) == 2.0
