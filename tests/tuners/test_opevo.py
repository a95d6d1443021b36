"""OpEvo against algorithm 1 of its paper."""

from __future__ import annotations

import pytest

from tests.tuners.checks import assert_refused
from tunesmith.measurement import Measurement
from tunesmith.space import Config, Ordinal, Space
from tunesmith.testing.trials import (
    assert_fresh,
    distance_cost,
    drive,
    failed,
    measured,
    space_named,
)
from tunesmith.testing.tuner import TunerConformance
from tunesmith.tuners import Random
from tunesmith.tuners.opevo import OpEvo, OpEvoSearch

NAMES = ("a", "b", "c", "d", "e", "f")
DIGITS = Space([Ordinal(name, tuple(range(10))) for name in NAMES])


class TestOpEvo(TunerConformance):
    tuner = OpEvo()
    learns = True


class TestWideAndSlow(TunerConformance):
    tuner = OpEvo(parents=32, children=3, q=0.1)
    learns = True


class TestOneParent(TunerConformance):
    tuner = OpEvo(parents=1, children=1, q=0.9)
    learns = True


def config_of(digit: int) -> Config:
    return Config(dict.fromkeys(NAMES, digit))


def start(space: Space = DIGITS, **options: float) -> OpEvoSearch:
    return OpEvo(**options).start(space, 0)  # type: ignore[arg-type] # the keys are its own


def total(config: Config) -> float:
    """A cost that is above 0 and the least for all zeros."""
    return 1.0 + sum(int(str(digit)) for digit in config.values())


def judge(config: Config) -> Measurement:
    return measured(config, total(config))


# --- Constants


def test_the_defaults_are_those_of_the_papers_experiments() -> None:
    assert OpEvo() == OpEvo(parents=8, children=8, q=0.5)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"parents": 0}, "parents must be 1 or more, not 0"),
        ({"children": 0}, "children must be 1 or more, not 0"),
        ({"q": 0.0}, "q must be more than 0 and less than 1, not 0.0"),
        ({"q": 1.0}, "q must be more than 0 and less than 1, not 1.0"),
        ({"q": float("nan")}, "q must be more than 0 and less than 1, not nan"),
        ({"q": "half"}, "option q must be float, not 'half'"),
    ],
)
def test_values_out_of_range_are_refused(options: dict[str, int], reason: str) -> None:
    assert_refused(OpEvo, options, reason)


# --- Generations: algorithm 1


def test_it_begins_with_as_many_random_configs_as_there_are_parents() -> None:
    random = Random().start(DIGITS, 0).propose(8)
    assert start().propose(8) == random
    search = start()
    for config in random:
        assert search.propose(1) == [config]
        search.observe([judge(config)])
    [child] = search.propose(1)
    assert len(search.parents) == 8 and search.due == 7
    assert child not in random


def test_parents_are_the_fittest_of_all_ever_measured() -> None:
    search = start()
    proposed = drive(search, 80, judge)
    search.propose(1)
    fittest = sorted(proposed, key=total)[:8]
    assert [parent.config for parent in search.parents] == fittest
    assert [parent.fitness for parent in search.parents] == [1 / total(c) for c in fittest]


def test_parents_of_a_generation_stay_until_all_its_children_are_out() -> None:
    search = start(parents=4, children=6)
    drive(search, 4, judge)
    search.propose(1)
    parents = search.parents
    search.observe([measured(config_of(0), 0.1)])
    search.propose(5)
    assert search.parents == parents
    search.propose(1)
    assert search.parents[0].config == config_of(0)
    assert search.parents[1:] == parents[:3]


def test_proposals_of_a_generation_do_not_depend_on_its_own_observations() -> None:
    """In step with its measurements this is the paper's algorithm."""
    cost = distance_cost(DIGITS)

    def distant(config: Config) -> Measurement:
        return measured(config, cost(config))

    one, four, eight = (drive(start(), 80, distant, batch=batch) for batch in (1, 4, 8))
    assert one == four == eight


def test_the_order_of_results_makes_no_difference() -> None:
    forward, backward = start(), start()
    for _ in range(12):
        configs = forward.propose(8)
        assert backward.propose(8) == configs
        results = [measured(c, total(c) + i / 100) for i, c in enumerate(configs)]
        forward.observe(results)
        backward.observe(results[::-1])
        assert forward.best == backward.best


def test_it_breeds_from_what_has_arrived() -> None:
    search = start()
    drive(search, 8, judge)
    pending = search.propose(20)
    assert_fresh(DIGITS, pending)
    assert search.due == 4, "two generations and a half, with nothing new to select from"
    search.observe([measured(pending[13], 0.01)])
    search.propose(5)
    assert search.parents[0].config == pending[13]


def test_with_too_few_measured_it_draws_at_random() -> None:
    search = start()
    search.propose(30)
    search.observe([judge(config_of(digit)) for digit in range(7)])
    search.propose(1)
    assert search.parents == ()
    search.observe([judge(config_of(7))])
    search.propose(1)
    assert len(search.parents) == 8


def test_with_failures_alone_it_draws_at_random() -> None:
    search, random = start(), Random().start(DIGITS, 0)
    assert drive(search, 60, failed) == drive(random, 60, failed)
    search.observe([judge(config_of(4))])
    distances = [DIGITS.distance(child, config_of(4)) for child in search.propose(8)]
    assert max(distances) <= 20 and sum(distances) / 8 <= 8, "mutants of the one that works"
    assert search.parents[0].config == config_of(4)


def test_children_of_one_success_are_near_it() -> None:
    search = start()
    search.observe([failed(config_of(digit)) for digit in range(8)])
    search.observe([judge(config_of(9))])
    distances = [DIGITS.distance(child, config_of(9)) for child in search.propose(8)]
    # Each of the six walks makes one step on average, not all of them away.
    assert max(distances) <= 20 and sum(distances) / 8 <= 8


def test_a_child_that_is_not_new_is_mutated_further() -> None:
    space = Space([Ordinal("x", tuple(range(1000)))])
    search = OpEvo().start(space, 0)
    search.observe([measured(Config({"x": x}), 1.0 + abs(x - 500)) for x in range(497, 504)])
    search.observe([measured(Config({"x": 400}), 1000.0)])
    children = search.propose(8)
    assert_fresh(space, children)
    near = [child for child in children if abs(child["x"] - 500) <= 20]  # type: ignore[operator]
    assert len(near) >= 4, "of random ones, 4 in 100 would be"


def test_where_no_mutation_leads_to_anything_new_a_random_config_is_next() -> None:
    space = Space([Ordinal("x", tuple(range(1000)))])
    search = OpEvo(q=1e-9).start(space, 0)
    search.observe([measured(Config({"x": x}), 1.0) for x in range(500, 508)])
    children = search.propose(40)
    assert_fresh(space, children)
    assert len({int(child["x"]) // 100 for child in children}) >= 8  # type: ignore[arg-type]


def test_records_of_an_earlier_run_are_its_first_population() -> None:
    search = start()
    search.observe([judge(config) for config in Random().start(DIGITS, 1).propose(25)])
    assert len(search.best) == 8
    search.propose(1)
    assert search.parents == tuple(search.best)


def test_children_meet_constraints_that_few_configs_meet() -> None:
    space = Space(DIGITS.parameters, ["a == b", "c == d", "e + f == 9"])
    cost = distance_cost(space)
    proposed = drive(OpEvo().start(space, 0), 300, lambda c: measured(c, cost(c)))
    assert_fresh(space, proposed)
    assert len(proposed) == 300
    assert min(map(cost, proposed)) == 1.0


def test_it_comes_near_the_best_of_a_mixed_space() -> None:
    space = space_named("mixed")
    cost = distance_cost(space)
    proposed = drive(OpEvo().start(space, 0), 300, lambda c: measured(c, cost(c)))
    assert min(map(cost, proposed)) <= 2.0
