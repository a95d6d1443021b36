"""Simulated annealing: its rule, its schedule, and what it makes of late measurements."""

from __future__ import annotations

import math

import pytest

from tests.tuners.checks import assert_refused
from tunesmith.measurement import Measurement
from tunesmith.space import Categorical, Config, Ordinal, Space
from tunesmith.testing.trials import distance_cost, drive, failed, measured, space_named
from tunesmith.testing.tuner import TunerConformance
from tunesmith.tuners.annealing import Annealing, AnnealingSearch
from tunesmith.tuners.breeding import Individual

LINE = Space([Ordinal("x", tuple(range(1000)))])
PLANE = Space([Ordinal("x", tuple(range(50))), Ordinal("y", tuple(range(50)))])


class TestAnnealing(TunerConformance):
    tuner = Annealing()
    learns = True


class TestShortCooling(TunerConformance):
    tuner = Annealing(starts=1, cooling=5, growth=1.0, hot=5.0, cold=0.5, jump=0.0)


class TestJumps(TunerConformance):
    tuner = Annealing(cooling=20, jump=1.0)
    learns = True


def start(space: Space = LINE, **options: float) -> AnnealingSearch:
    return Annealing(**options).start(space, 0)  # type: ignore[arg-type] # the keys are its own


def at(search: AnnealingSearch, x: int, seconds: float = 1.0) -> AnnealingSearch:
    """The search with its state at x, told so."""
    search.observe([measured(Config({"x": x}), seconds)])
    search._moves_begin = 0
    return search


def xs(configs: list[Config]) -> set[object]:
    return {config["x"] for config in configs}


# --- Settings


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"starts": 0}, "starts must be 1 or more, not 0"),
        ({"cold": 0.0}, "cold must be more than 0 and at most hot (0.3), not 0.0"),
        ({"cold": 0.5}, "at most hot (0.3), not 0.5"),
        ({"cold": 1e-200, "hot": 1e200}, "cold must not be so much below hot (1e+200)"),
        ({"hot": math.inf}, "at most hot (inf)"),
        ({"cooling": 0}, "cooling must be 1 or more, not 0"),
        ({"growth": 0.5}, "growth must be a number from 1, not 0.5"),
        ({"growth": math.nan}, "growth must be a number from 1, not nan"),
        ({"jump": 1.5}, "jump must be between 0 and 1, not 1.5"),
        ({"cooling": 2.5}, "option cooling must be int, not 2.5"),
    ],
)
def test_values_out_of_range_are_refused(options: dict[str, float], reason: str) -> None:
    assert_refused(Annealing, options, reason)


# --- Metropolis' rule


@pytest.mark.parametrize(
    ("seconds", "temperature", "share"),
    [
        (0.9, 0.1, 1.0),
        (1.0, 0.1, 1.0),
        (1.1, 0.1, math.exp(-1)),
        (1.2, 0.1, math.exp(-2)),
        (2.0, 2.0, math.exp(-0.5)),
        (100.0, 0.1, 0.0),
    ],
)
def test_the_slower_is_accepted_by_how_much_more_time_it_takes(
    seconds: float, temperature: float, share: float
) -> None:
    search = start(hot=temperature, cold=temperature)
    state = Individual(Config({"x": 1}), 1.0)
    found = Individual(Config({"x": 2}), 1.0 / seconds)
    accepted = sum(search._accepts(found, state) for _ in range(4000))
    assert accepted / 4000 == pytest.approx(share, abs=0.04)  # five standard deviations


def test_a_failure_is_never_accepted() -> None:
    search = start(hot=1e300)
    state = Individual(Config({"x": 1}), 5e-324)
    assert not any(search._accepts(Individual(Config({"x": 2}), 0.0), state) for _ in range(100))


def test_acceptance_does_not_depend_on_the_unit_of_time() -> None:
    proposals = []
    for unit in (1.0, 1e-9):
        search = start(PLANE)
        cost = distance_cost(PLANE)
        run = drive(search, 200, lambda c, of=cost, u=unit: measured(c, of(c) * u))  # type: ignore[misc]
        proposals.append(run)
    assert proposals[0] == proposals[1]


# --- Temperature


def test_the_temperature_falls_geometrically_with_the_trials() -> None:
    search = start(hot=0.8, cold=0.1, cooling=90, starts=1)
    assert search.temperature == pytest.approx(0.8)
    at(search, 500)
    expected = {0: 0.8, 30: 0.4, 60: 0.2, 89: 0.8 * (1 / 8) ** (89 / 90)}
    for trial in range(90):
        if trial in expected:
            assert search.temperature == pytest.approx(expected[trial])
        search.propose(1)
        assert search.trials == trial + 1
    assert search.temperature == pytest.approx(0.1)


def test_each_cooling_takes_longer() -> None:
    search = start(cooling=20, growth=1.5, jump=1.0, starts=1)
    at(search, 500)
    durations = []
    for _ in range(120):
        [config] = search.propose(1)
        search.observe([measured(config, 2.0)])
        if search.duration not in durations:
            durations.append(search.duration)
    assert durations == [20.0, 30.0, 45.0, 67.5]


def test_after_cooling_it_goes_on_at_the_best() -> None:
    search = at(start(cooling=10, hot=100.0, cold=100.0), 500, seconds=1.0)
    for _ in range(10):
        [config] = search.propose(1)
        search.observe([measured(config, 2.0)])
    assert search.state is not None
    assert search.state.config["x"] != 500
    [next_one] = search.propose(1)
    assert search.state == Individual(Config({"x": 500}), 1.0)
    assert search._origins[next_one] == (0, Config({"x": 500}))


def test_where_cooling_found_no_better_it_starts_elsewhere() -> None:
    search = at(start(cooling=5, growth=1.0, starts=3), 500)
    for _ in range(5 + 5):  # the first heating is at the best, the second not
        [config] = search.propose(1)
        search.observe([failed(config)])
    elsewhere = search.propose(3)
    assert search.state is None
    assert [search._origins[config] for config in elsewhere] == [(1, None)] * 3
    search.observe([measured(config, 2.0 + i) for i, config in enumerate(elsewhere)])
    assert search.state == Individual(elsewhere[0], 0.5)
    assert search.best == Individual(Config({"x": 500}), 1.0)
    [move] = search.propose(1)
    assert search._origins[move] == (1, elsewhere[0])


# --- Moves


def test_it_starts_at_the_best_of_some_random_configs() -> None:
    search = start(starts=10)
    configs = search.propose(10)
    search.observe([measured(config, 1.0 + (i - 4) ** 2) for i, config in enumerate(configs)])
    assert search.state is not None
    assert search.state.config == configs[4]
    rising, falling = start(starts=10), start(starts=10)
    first = drive(rising, 10, lambda c: measured(c, 1.0 + c["x"]), batch=1)  # type: ignore[operator]
    second = drive(falling, 10, lambda c: measured(c, 1e4 - c["x"]), batch=1)  # type: ignore[operator]
    assert first == second == configs


def test_a_move_leads_to_an_adjacent_config() -> None:
    search = at(start(jump=0.0), 500)
    assert xs(search.propose(2)) == {499, 501}


def test_all_adjacent_configs_are_equally_likely() -> None:
    space = Space([Ordinal("x", (1, 2, 3)), Categorical("c", tuple("abcdefgh"))])
    firsts = []
    for seed in range(900):
        search = Annealing(starts=1, jump=0.0).start(space, seed)
        search.observe([measured(Config({"x": 2, "c": "a"}), 1.0)])
        firsts += search.propose(1)
    for config in space.neighbours(Config({"x": 2, "c": "a"})):
        assert 60 < firsts.count(config) < 145  # 100 expected, with a standard deviation of 9.4


def test_a_jump_gives_a_parameter_any_of_its_values() -> None:
    search = at(start(jump=1.0), 500)
    found = xs(search.propose(200))
    assert found & set(range(100))
    assert found & set(range(900, 1000))
    plane = start(PLANE, jump=1.0, starts=1)
    plane.observe([measured(Config({"x": 7, "y": 7}), 1.0)])
    assert all((c["x"] == 7) != (c["y"] == 7) for c in plane.propose(40))


def test_a_jump_is_a_change() -> None:
    """A parameter of one value has no other."""
    space = Space([Ordinal("a", (1,)), Ordinal("b", (1, 2, 3)), Ordinal("c", (7,))])
    search = Annealing(jump=1.0).start(space, 0)
    config = Config({"a": 1, "b": 2, "c": 7})
    assert {search._move(config) for _ in range(30)} == set(space.neighbours(config))


def test_a_move_to_a_known_config_costs_no_trial() -> None:
    """It walks on over what is known, by the same rule, to the first unknown config."""
    search = start(jump=0.0, starts=1)
    search.observe([measured(Config({"x": x}), 10.0 - x) for x in range(6)])
    assert search.state == Individual(Config({"x": 5}), 1 / 5.0)
    search._move_to(Individual(Config({"x": 0}), 1 / 10.0))
    assert xs(search.propose(1)) == {6}
    assert search.trials == 1


def test_where_no_adjacent_config_is_left_it_jumps() -> None:
    search = at(start(jump=0.0), 500)
    assert xs(search.propose(2)) == {499, 501}
    assert [search._origins[config] for config in search.propose(20)] == [
        (0, Config({"x": 500}))
    ] * 20


def test_where_no_move_is_possible_it_is_heated_and_draws_at_random() -> None:
    space = Space(PLANE.parameters, ["x == y"])
    search = start(space, starts=1)
    search.observe([measured(Config({"x": 9, "y": 9}), 1.0)])
    [config] = search.propose(1)
    assert search._origins[config] == (0, None)
    assert search.duration == 300.0
    assert search.trials == 0


# --- Late, early and foreign measurements


def test_while_moves_are_pending_further_ones_leave_from_the_same_state() -> None:
    search = start(PLANE, starts=1, jump=0.0)
    middle = Config({"x": 20, "y": 20})
    search.observe([measured(middle, 1.0)])
    assert set(search.propose(4)) == set(PLANE.neighbours(middle))


def test_with_all_around_pending_it_starts_elsewhere() -> None:
    search = start(PLANE, starts=1, cooling=1000)
    middle = Config({"x": 20, "y": 20})
    search.observe([measured(middle, 1.0)])
    proposed = search.propose(300)  # of which 98 share a coordinate with the middle
    moves = [c for c in proposed if search._origins[c][1] == middle]
    assert 80 < len(moves) <= 98
    assert all((c["x"] == 20) != (c["y"] == 20) for c in moves)
    assert {search._origins[c][1] for c in proposed} == {middle, None}


def test_a_late_move_is_taken_only_if_it_is_faster() -> None:
    search = at(start(jump=0.0, starts=1, hot=1e6, cold=1e6), 500, seconds=5.0)
    first, second = search.propose(2)
    search.observe([measured(first, 4.0)])
    assert search.state == Individual(first, 1 / 4.0)
    search.observe([measured(second, 4.5)])  # however hot it is
    assert search.state == Individual(first, 1 / 4.0)
    [third] = search.propose(1)
    search.observe([measured(third, 3.0)])
    assert search.state == Individual(third, 1 / 3.0)


def test_a_move_of_an_earlier_chain_is_remembered_but_not_taken() -> None:
    search = at(start(cooling=1, growth=1.0, starts=1), 500)
    old = search.propose(1)  # one trial: heated at the best
    old += search.propose(1)  # and again: elsewhere
    [new] = search.propose(1)
    assert search._chain == 1
    search.observe([measured(new, 9.0)])
    search.observe([measured(config, 0.5) for config in old])
    assert search.state == Individual(new, 1 / 9.0)
    assert search.best is not None
    assert search.best.fitness == 2.0


def test_records_of_an_earlier_run_are_its_starts() -> None:
    search = start(jump=0.0)
    records = [Config({"x": x}) for x in range(0, 1000, 20)]
    search.observe([measured(config, 1.0 + abs(500 - config["x"])) for config in records])  # type: ignore[operator]
    assert xs(search.propose(2)) == {499, 501}


# --- Success


def test_it_finds_the_best_of_a_mixed_space() -> None:
    space = space_named("mixed")
    cost = distance_cost(space)
    proposed = drive(Annealing().start(space, 0), 400, lambda c: measured(c, cost(c)))
    assert min(map(cost, proposed)) == 1.0


def test_it_leaves_a_local_optimum() -> None:
    """Two valleys; ten of ten searches that start in the shallow one come to the deep one."""

    def seconds(config: Config) -> float:
        x, y = config["x"], config["y"]
        assert isinstance(x, int)
        assert isinstance(y, int)
        deep = 1.0 + 0.02 * (abs(x - 35) + abs(y - 35))
        shallow = 1.2 + 0.02 * (abs(x - 10) + abs(y - 10))
        return min(deep, shallow)

    def judge(config: Config) -> Measurement:
        return measured(config, seconds(config))

    for seed in range(10):
        search = Annealing(starts=1).start(PLANE, seed)
        search.observe([judge(Config({"x": 10, "y": 10}))])
        proposed = drive(search, 600, judge, batch=4)
        assert min(map(seconds, proposed)) < 1.1
