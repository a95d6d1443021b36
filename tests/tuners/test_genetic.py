"""The genetic algorithm."""

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
from tunesmith.tuners import Genetic
from tunesmith.tuners.breeding import Individual
from tunesmith.tuners.genetic import GeneticSearch

NAMES = ("a", "b", "c", "d", "e", "f")
DIGITS = Space([Ordinal(name, tuple(range(10))) for name in NAMES])


class TestGenetic(TunerConformance):
    tuner = Genetic()
    learns = True
    learning_trials = 800  # eight generations


class TestSmallPopulation(TunerConformance):
    tuner = Genetic(population=10, elites=2, mutation=0.2)
    learns = True


class TestNoMutation(TunerConformance):
    tuner = Genetic(population=2, elites=0, mutation=0.0)


def config_of(digit: int) -> Config:
    return Config(dict.fromkeys(NAMES, digit))


def start(**options: float) -> GeneticSearch:
    return Genetic(**options).start(DIGITS, 0)  # type: ignore[arg-type] # the keys are its own


def observe_generation(search: GeneticSearch, seconds: float = 1.0) -> list[Measurement]:
    """One generation proposed and observed, slower and slower."""
    configs = search.propose(search.settings.population)
    measurements = [measured(config, seconds + i) for i, config in enumerate(configs)]
    search.observe(measurements)
    return measurements


# --- Constants


def test_the_defaults_are_autotvms() -> None:
    assert Genetic() == Genetic(population=100, elites=3, mutation=0.1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"population": 1}, "population must be 2 or more, not 1"),
        ({"elites": -1}, "elites must be 0 or more and less than the population (100), not -1"),
        ({"population": 3, "elites": 3}, "less than the population (3), not 3"),
        ({"mutation": 1.5}, "mutation must be between 0 and 1, not 1.5"),
        ({"mutation": float("nan")}, "mutation must be between 0 and 1, not nan"),
        ({"population": "50"}, "option population must be int, not '50'"),
        ({"population": True}, "option population must be int, not True"),
    ],
)
def test_values_out_of_range_are_refused(options: dict[str, int], reason: str) -> None:
    assert_refused(Genetic, options, reason)


# --- Generations


def test_the_parents_are_the_last_generation_and_the_elites_before_it() -> None:
    search = start(population=10, elites=3)
    first = observe_generation(search, seconds=1.0)
    assert [parent.config for parent in search.parents] == [m.config for m in first]
    assert [elite.config for elite in search.elites] == [m.config for m in first[:3]]
    second = observe_generation(search, seconds=100.0)
    expected = [m.config for m in second] + [m.config for m in first[:3]]
    assert [parent.config for parent in search.parents] == expected


def test_elites_stay_until_they_are_beaten() -> None:
    search = start(population=10, elites=3)
    first = observe_generation(search, seconds=1.0)
    for _ in range(3):
        observe_generation(search, seconds=100.0)
        assert [elite.config for elite in search.elites] == [m.config for m in first[:3]]
    best = observe_generation(search, seconds=0.5)
    kept = [best[0].config, first[0].config, best[1].config]
    assert [elite.config for elite in search.elites] == kept


def test_without_mutation_children_are_made_of_their_parents_values() -> None:
    search = start(population=20, elites=0, mutation=0.0)
    parents = observe_generation(search)
    values = {name: {m.config[name] for m in parents} for name in NAMES}
    # A child that is not new is re-drawn in part: a few of these children may be.
    inherited = sum(all(c[n] in values[n] for n in NAMES) for c in search.propose(20))
    assert inherited >= 18


def test_mutation_redraws_a_tenth_of_the_parameters() -> None:
    """The parents differ in the first and the last parameter, by which nearly all children are new:
    hardly any is re-drawn."""
    ends = [Ordinal(name, tuple(range(400))) for name in "af"]
    middle = [Ordinal(name, tuple(range(10))) for name in "bcde"]
    space = Space([ends[0], *middle, ends[1]])
    search = Genetic(population=400, elites=0, mutation=0.1).start(space, 0)
    parents = [Config({**dict.fromkeys(NAMES, 0), "a": i, "f": i}) for i in range(400)]
    search.observe([measured(config, 1.0) for config in parents])
    children = search.propose(400)
    changed = sum(child[name] != 0 for child in children for name in "bcde")
    # Of 1600 a tenth is re-drawn, a tenth of that as before: 144, standard deviation 11.4.
    assert 100 <= changed <= 190


def test_proposals_of_a_generation_do_not_depend_on_its_own_observations() -> None:
    """In step with its measurements this is the synchronous algorithm."""
    batched, whole = start(population=20), start(population=20)
    cost = distance_cost(DIGITS)

    def judge(config: Config) -> Measurement:
        return measured(config, cost(config))

    assert drive(batched, 100, judge, batch=5) == drive(whole, 100, judge, batch=20)


def test_asked_while_a_generation_is_pending_it_breeds_from_what_is_known() -> None:
    search = start(population=20, elites=0, mutation=0.0)
    configs = search.propose(20)
    search.observe([measured(config, 1.0) for config in configs[:2]])
    children = search.propose(3)
    assert search.generation == 0
    for child in children:
        assert all(child[n] in {configs[0][n], configs[1][n]} for n in NAMES)


def test_asked_with_nothing_known_it_draws_at_random() -> None:
    search = start(population=10)
    assert_fresh(DIGITS, search.propose(35))
    assert search.generation == 0


def test_early_children_count_for_the_next_generation() -> None:
    search = start(population=10)
    first = search.propose(10)
    early = search.propose(4)
    search.observe([measured(config, 1.0) for config in first])
    assert search.generation == 1
    search.observe([measured(config, 1.0) for config in early + search.propose(6)])
    assert search.generation == 2


def test_records_of_an_earlier_run_make_generations() -> None:
    search = start(population=10, elites=2)
    records = Genetic(population=10).start(DIGITS, 1).propose(25)
    search.observe([measured(config, 1.0 + i) for i, config in enumerate(records)])
    assert search.generation == 2
    assert [elite.config for elite in search.elites] == records[:2]
    assert [arrived.config for arrived in search.arrived] == records[20:]


def test_a_config_is_learned_from_once() -> None:
    search = start(population=10)
    [config] = search.propose(1)
    search.observe([failed(config), measured(config, 1.0), failed(config)])
    assert search.arrived == [Individual(config, 0.0)]


def test_children_meet_constraints_that_few_configs_meet() -> None:
    space = Space(
        [Ordinal(name, tuple(range(10))) for name in NAMES],
        ["a == b", "c == d", "e + f == 9"],
    )
    cost = distance_cost(space)
    search = Genetic(population=20).start(space, 0)
    proposed = drive(search, 300, lambda c: measured(c, cost(c)))
    assert_fresh(space, proposed)
    assert len(proposed) == 300


def test_it_comes_near_the_best_of_a_mixed_space() -> None:
    space = space_named("mixed")
    cost = distance_cost(space)
    search = Genetic(population=20, elites=3).start(space, 0)
    proposed = drive(search, 400, lambda c: measured(c, cost(c)))
    assert min(map(cost, proposed)) <= 3.0
