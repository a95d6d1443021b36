"""NoSE against section III-B of its paper."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
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
from tunesmith.tuners.nose import Nose, NoseSearch

NAMES = ("a", "b", "c", "d", "e", "f")
DIGITS = Space([Ordinal(name, tuple(range(1, 11))) for name in NAMES])


class TestNose(TunerConformance):
    tuner = Nose()
    learns = True


class TestSmallPopulation(TunerConformance):
    tuner = Nose(population=10, mutation=0.1, neighbours=3)
    learns = True


class TestNoMutation(TunerConformance):
    tuner = Nose(population=2, offspring=1.0, elite=1.0, mutation=0.0, neighbours=1)


class TestAllMutated(TunerConformance):
    tuner = Nose(population=5, mutation=1.0)


def start(**options: float) -> NoseSearch:
    return Nose(**options).start(DIGITS, 0)  # type: ignore[arg-type] # the keys are its own


def judge(config: Config) -> Measurement:
    return measured(config, sum(config.values()))  # type: ignore[arg-type] # digits


def observe(search: NoseSearch, count: int) -> list[Config]:
    configs = search.propose(count)
    search.observe([judge(config) for config in configs])
    return configs


# --- Constants


def test_the_defaults_are_the_papers() -> None:
    tuner = Nose()
    assert (tuner.population, tuner.neighbours, tuner.mutation) == (100, 9, 0.3)
    assert (tuner.offspring, tuner.elite) == (1.5, 0.3)
    assert (tuner.offspring_count, tuner.elite_count) == (150, 30)


def test_offspring_and_elite_are_shares_of_the_population() -> None:
    assert (Nose(population=20).offspring_count, Nose(population=20).elite_count) == (30, 6)
    assert (Nose(population=2).offspring_count, Nose(population=2).elite_count) == (3, 1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"population": 1}, "population must be 2 or more, not 1"),
        ({"elite": 0.0}, "elite must be more than 0 and at most offspring (1.5)"),
        ({"elite": 2.0}, "elite must be more than 0 and at most offspring (1.5)"),
        ({"offspring": float("inf")}, "at most 1000"),
        ({"elite": float("nan")}, "not nan"),
        ({"mutation": 1.5}, "mutation must be between 0 and 1, not 1.5"),
        ({"mutation": float("nan")}, "mutation must be between 0 and 1, not nan"),
        ({"neighbours": 0}, "neighbours must be 1 or more, not 0"),
        ({"neighbours": 2.5}, "option neighbours must be int, not 2.5"),
    ],
)
def test_values_out_of_range_are_refused(options: dict[str, float], reason: str) -> None:
    assert_refused(Nose, options, reason)


# --- Initial population, and what follows it


def test_the_first_population_is_random_whatever_is_observed() -> None:
    """P_0: its proposals are uniform, so they do not depend on how fast they are."""
    rising, falling = start(population=40), start(population=40)
    first = drive(rising, 40, lambda c: measured(c, 1.0 + sum(c.values())))  # type: ignore[arg-type]
    second = drive(falling, 40, lambda c: measured(c, 100.0 - sum(c.values())))  # type: ignore[arg-type]
    assert first == second
    assert rising.propose(1) != falling.propose(1)


def test_the_best_survive() -> None:
    """Step 5 adds the elite to the population and drops the worst: the best of all so far stay."""
    search = start(population=20)
    seen = observe(search, 20)
    for _ in range(5):
        old = [individual.config for individual in search.population]
        elite = observe(search, 6)
        seen += elite
        merged = sorted(old + elite, key=lambda c: sum(c.values()))[:20]  # type: ignore[arg-type]
        assert merged == sorted(seen, key=lambda c: sum(c.values()))[:20]  # type: ignore[arg-type]
        assert [individual.config for individual in search.population] == merged


def test_the_knowledge_base_holds_all_observations() -> None:
    search = start(population=10)
    configs = observe(search, 10) + observe(search, 3)
    search.observe([failed(config) for config in search.propose(3)])
    assert len(search.population) == 10
    assert len(search._speeds) == len(configs) + 3


def test_of_equal_ones_the_earlier_stay() -> None:
    search = start(population=3)
    first, second, third, fourth = search.propose(4)
    search.observe([measured(c, 2.0) for c in (second, first)])
    search.observe([measured(third, 1.0), measured(fourth, 2.0)])
    assert [individual.config for individual in search.population] == [third, second, first]


# --- A generation


def test_the_elite_are_the_offspring_of_highest_prediction() -> None:
    """Steps 3 and 4: of M bred, the E with the highest prediction are proposed, best first."""
    search, twin = start(population=20), start(population=20)
    observe(search, 20)
    observe(twin, 20)
    offspring = twin._breed()
    assert len(offspring) == len(set(offspring)) == 30
    predicted = twin.predict(offspring)
    best_first = sorted(range(30), key=lambda i: (-predicted[i], i))
    assert search.propose(6) == [offspring[i] for i in best_first[:6]]


def test_in_step_with_its_measurements_a_generation_is_bred_at_once() -> None:
    whole, parts = start(population=20), start(population=20)
    observe(whole, 20)
    observe(parts, 20)
    assert observe(whole, 6) == observe(parts, 2) + observe(parts, 3) + observe(parts, 1)
    assert whole.propose(6) == parts.propose(6)


def test_the_next_generation_knows_the_last_one() -> None:
    """The same proposals with another answer lead to other offspring."""
    one, other = start(population=20), start(population=20)
    observe(one, 20)
    observe(other, 20)
    elite = one.propose(6)
    assert other.propose(6) == elite
    one.observe([judge(config) for config in elite])
    other.observe([failed(config) for config in elite])
    assert one.propose(6) != other.propose(6)


def test_offspring_are_of_the_population_alone() -> None:
    search = start(population=5, mutation=0.0)
    observe(search, 30)
    children = search._breed()
    assert len(children) == 8, "1.5 times as many"
    for child in children:
        assert any(
            all(child[name] == head.config[name] for name in NAMES[:cut])
            and all(child[name] == tail.config[name] for name in NAMES[cut:])
            for head, tail in itertools.permutations(search.population, 2)
            for cut in range(1, len(NAMES))
        )


def test_parents_are_drawn_by_their_measured_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Step 1: the roulette wheel, which has tests of its own, spins for M pairs."""
    search = start(population=4)
    pure = [Config(dict.fromkeys(NAMES, digit)) for digit in (1, 2, 3, 4)]
    search.observe([failed(pure[0]), *(measured(c, 1 / c["a"]) for c in pure[1:])])  # type: ignore[operator]
    spins: list[tuple[list[float], int]] = []

    def heads_of_the_fittest(
        fitness: list[float], pairs: int, rng: np.random.Generator
    ) -> list[tuple[int, int]]:
        spins.append((fitness, pairs))
        return [(0, 1)] * pairs

    monkeypatch.setattr("tunesmith.tuners.nose.roulette_pairs", heads_of_the_fittest)
    children = search._breed()
    assert spins[0] == ([pytest.approx(4.0), pytest.approx(3.0), pytest.approx(2.0), 0.0], 6)
    heads = Counter(child["a"] for child in children)
    tails = Counter(child["f"] for child in children)
    assert heads.most_common(1)[0][0] == 4  # but for mutation
    assert tails.most_common(1)[0][0] == 3


def test_a_parameter_mutates_with_the_given_probability_to_another_value() -> None:
    search = start(population=100, mutation=0.3)
    same = Config(dict.fromkeys(NAMES, 1))
    children = [search._child(same, same) for _ in range(2000)]
    values = Counter(value for child in children for value in child.values())
    # 12,000 genes: 3600 change, with a standard deviation of 50, each other value 400 times.
    assert values[1] == pytest.approx(8400, abs=250)
    assert all(300 < values[digit] < 500 for digit in range(2, 11))


# --- Late and early


def test_asked_for_more_than_an_elite_it_breeds_from_what_is_known() -> None:
    search = start(population=20, mutation=0.0)
    configs = search.propose(20)
    search.observe([judge(config) for config in configs[:2]])
    children = search.propose(3)
    for child in children:
        assert all(child[n] in {configs[0][n], configs[1][n]} for n in NAMES)


def test_asked_with_nothing_known_it_draws_at_random() -> None:
    search = start(population=10)
    assert_fresh(DIGITS, search.propose(55))
    assert not search.population


def test_records_of_an_earlier_run_are_the_first_population() -> None:
    records = start().propose(50)
    search = start(population=20, mutation=0.0)
    search.observe([judge(config) for config in records])
    assert len(search.population) == 20
    assert len(search._speeds) == 50
    twin = start(population=20)
    twin.observe([judge(config) for config in reversed(records)])
    assert [i.fitness for i in twin.population] == [i.fitness for i in search.population]
    elite = search.propose(6)
    values = {name: {i.config[name] for i in search.population} for name in NAMES}
    assert all(config[name] in values[name] for config in elite for name in NAMES)


def test_an_elite_that_is_observed_before_its_turn_is_not_proposed() -> None:
    search, twin = start(population=20), start(population=20)
    observe(search, 20)
    observe(twin, 20)
    elite = twin.propose(6)
    assert search.propose(2) == elite[:2]
    search.observe([judge(elite[2]), judge(elite[4])])
    assert search.propose(2) == [elite[3], elite[5]]


def test_when_no_offspring_is_new_random_configs_take_their_place() -> None:
    space = Space([Ordinal("x", tuple(range(1, 101)))])
    search = Nose(population=10, mutation=0.0).start(space, 0)  # children equal their mothers
    proposed = drive(search, 100, lambda c: measured(c, 1.0 + c["x"]))  # type: ignore[operator]
    assert set(proposed) == set(space.enumerate())


def test_children_meet_constraints_that_few_configs_meet() -> None:
    digits = [Ordinal(name, tuple(range(10))) for name in NAMES]
    space = Space(digits, ["a == b", "c == d", "e + f == 9"])
    cost = distance_cost(space)
    search = Nose(population=20).start(space, 0)
    proposed = drive(search, 300, lambda c: measured(c, cost(c)))
    assert_fresh(space, proposed)
    assert len(proposed) == 300


def test_the_surrogate_helps() -> None:
    """With it, offspring are better than the same algorithm's without a choice among them."""
    space = space_named("billions")

    def mean_cost(offspring: float) -> float:
        costs = []
        for seed in range(5):
            cost = distance_cost(space, seed)
            tuner = Nose(population=50, offspring=offspring)
            proposed = drive(tuner.start(space, seed), 200, lambda c, of=cost: measured(c, of(c)))  # type: ignore[misc]
            costs += [cost(config) for config in proposed[50:]]
        return float(np.mean(costs))

    assert mean_cost(offspring=1.5) < mean_cost(offspring=0.3)


def test_it_comes_near_the_best_of_a_mixed_space() -> None:
    space = space_named("mixed")
    cost = distance_cost(space)
    search = Nose(population=20).start(space, 0)
    proposed = drive(search, 400, lambda c: measured(c, cost(c)))
    assert min(map(cost, proposed)) <= 3.0
