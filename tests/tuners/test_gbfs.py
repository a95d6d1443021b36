"""G-BFS against algorithm 1 of its paper."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import pytest

from tests.tuners.checks import assert_refused
from tunesmith.measurement import Measurement
from tunesmith.space import Categorical, Config, Factorization, Ordinal, Permutation, Space
from tunesmith.testing.trials import (
    LARGE_SPACES,
    assert_fresh,
    distance_cost,
    drive,
    failed,
    measured,
    space_named,
)
from tunesmith.testing.tuner import TunerConformance
from tunesmith.tuners.gbfs import GBFS, GBFSSearch
from tunesmith.tuners.registry import parse_options, tuner

NEEDS_PYTORCH = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")

GRID = Space([Ordinal("x", tuple(range(9))), Ordinal("y", tuple(range(7)))])
GEMM = Space([Factorization("m", 64, 4), Factorization("k", 64, 2), Factorization("n", 64, 4)])
UNTILED = Config({"m": (64, 1, 1, 1), "k": (64, 1), "n": (64, 1, 1, 1)})


class TestGBFS(TunerConformance):
    tuner = GBFS()
    learns = True


class TestAllNeighbours(TunerConformance):
    tuner = GBFS(neighbours=None)
    learns = True
    learning_trials = 1600  # some forty states, of forty neighbours each, on the way
    stochastic = False  # until a random config is needed


class TestRandomStart(TunerConformance):
    tuner = GBFS(neighbours=2, start_at="random")
    learns = True


def judge_by(cost: Callable[[Config], float]) -> Callable[[Config], Measurement]:
    return lambda config: measured(config, cost(config))


def point(x: int, y: int) -> Config:
    return Config({"x": x, "y": y})


def without_random(search: GBFSSearch) -> GBFSSearch:
    """A search that ends where it would need a random config."""
    search.fresh_config = lambda: None  # type: ignore[method-assign]
    return search


def algorithm_1(
    space: Space, start: Config, cost: Callable[[Config], float], tests: int
) -> list[Config]:
    """Algorithm 1 with ρ = len(g(s)), which leaves nothing to chance: its first tests in order."""
    queue = [(cost(start), 0, start)]
    visited = [start]
    while queue and len(visited) < tests:
        _, _, state = heapq.heappop(queue)
        for near in space.neighbours(state):
            if near not in visited:
                heapq.heappush(queue, (cost(near), len(visited), near))
                visited.append(near)
    return visited[:tests]


# --- Settings


def test_the_defaults_are_the_papers() -> None:
    assert GBFS() == GBFS(neighbours=5, start_at="untiled")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"neighbours": 0}, "neighbours must be 1 or more, or none for all, not 0"),
        ({"neighbours": 2.5}, "option neighbours must be int or none, not 2.5"),
        ({"start_at": "centre"}, "option start_at must be 'untiled' or 'random', not 'centre'"),
    ],
)
def test_values_out_of_range_are_refused(options: dict[str, int], reason: str) -> None:
    assert_refused(GBFS, options, reason)


def test_all_neighbours_can_be_asked_for_on_the_command_line() -> None:
    assert tuner("gbfs", **parse_options("gbfs", ["neighbours=none"])) == GBFS(neighbours=None)


# --- The first state


def test_it_starts_untiled() -> None:
    assert GBFS().start(GEMM, 0).propose(1) == [UNTILED]


def test_other_kinds_start_with_their_lowest_or_first_value() -> None:
    space = Space(
        [
            Ordinal("unroll", (64, 0, 16)),
            Permutation("order", ("j", "i")),
            Categorical("layout", ("NHWC", "NCHW")),
        ]
    )
    first = Config({"unroll": 0, "order": ("j", "i"), "layout": "NHWC"})
    assert GBFS().start(space, 0).propose(1) == [first]


def test_where_the_first_state_breaks_constraints_it_starts_at_the_nearest_valid_one() -> None:
    space = Space(
        [Factorization("x", 64, 3), Factorization("y", 48, 3), Ordinal("u", (0, 1, 2, 3))],
        ["x[2] * y[2] >= 4", "u >= 1"],
    )
    untiled = Config({"x": (64, 1, 1), "y": (48, 1, 1), "u": 0})
    [first] = GBFS().start(space, 0).propose(1)
    assert space.contains(first)
    assert space.distance(first, untiled) == min(
        space.distance(config, untiled) for config in space.enumerate()
    )


@pytest.mark.parametrize("name", ["gbfs", pytest.param("na2c", marks=NEEDS_PYTORCH)])
def test_where_none_is_near_it_starts_at_random(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    values = tuple(range(1000))
    space = Space([Ordinal("a", values), Ordinal("b", values)], ["a + b >= 1500"])
    first = [tuner(name).start(space, seed).propose(1)[0] for seed in range(8)]
    assert_fresh(space, first)
    assert f"tuner '{name}': the space has no untiled config" in caplog.text


def test_it_starts_at_random_if_asked_to() -> None:
    first = {GBFS(start_at="random").start(GEMM, seed).propose(1)[0] for seed in range(8)}
    assert len(first) == 8


# --- Algorithm 1


@pytest.mark.parametrize(
    "space", [GRID, space_named("mixed"), space_named("constrained")], ids=["grid", "mixed", "tied"]
)
def test_with_all_neighbours_it_is_algorithm_1(space: Space) -> None:
    cost = distance_cost(space)
    search = GBFS(neighbours=None).start(space, 0)
    run = drive(search, 400, judge_by(cost), batch=1)
    assert run == algorithm_1(space, run[0], cost, 400)


@pytest.mark.parametrize("batch", [1, 7, 50])
def test_with_all_neighbours_it_visits_the_whole_connected_space(batch: int) -> None:
    for space in (GRID, space_named("fifteen points"), Space([Permutation("p", (1, 2, 3, 4))])):
        search = without_random(GBFS(neighbours=None).start(space, 0))
        cost = distance_cost(space)
        proposed = drive(search, 10_000, judge_by(cost), batch)
        if batch == 50:  # more than the first state has neighbours: go on when they are measured
            proposed += drive(search, 10_000, judge_by(cost), batch)
        assert_fresh(space, proposed)
        assert set(proposed) == set(space.enumerate())


def test_the_best_state_is_expanded_next() -> None:
    search = GBFS(neighbours=None).start(GRID, 0)
    search.observe([measured(point(2, 2), 3.0), measured(point(6, 4), 1.0)])
    search.observe([measured(point(4, 0), 2.0)])
    for state in (point(6, 4), point(4, 0), point(2, 2)):
        around = GRID.neighbours(state)
        assert search.propose(len(around)) == around


def test_of_each_state_five_neighbours_are_sampled() -> None:
    around: list[set[Config]] = []
    for seed in range(40):
        search = without_random(GBFS().start(GEMM, seed))
        search.observe([measured(UNTILED, 1.0)])
        sampled = search.propose(100)
        assert len(sampled) == 5
        around.append(set(sampled))
    assert set().union(*around) == set(GEMM.neighbours(UNTILED))


def test_a_neighbourhood_that_is_used_up_does_not_end_the_search() -> None:
    best, other = point(4, 4), point(7, 1)
    search = without_random(GBFS(neighbours=None).start(GRID, 0))
    around = GRID.neighbours(best)
    search.observe([failed(config) for config in around])
    search.observe([measured(best, 1.0), measured(other, 9.0)])
    assert search.propose(2) == GRID.neighbours(other)[:2]


@pytest.mark.parametrize("name", LARGE_SPACES)
def test_no_state_is_proposed_again(name: str) -> None:
    space = space_named(name)
    proposed = drive(GBFS().start(space, 0), 450, judge_by(distance_cost(space)), batch=3)
    assert_fresh(space, proposed)
    assert len(proposed) == 450


def test_when_the_queue_is_empty_it_goes_on_from_a_random_config() -> None:
    """On islands that no neighbourhood connects."""
    islands = Space(GRID.parameters, ["x % 3 != 2", "y % 3 != 2"])
    cost = distance_cost(islands)
    proposed = drive(GBFS().start(islands, 0), 1000, judge_by(cost), batch=1)
    assert_fresh(islands, proposed)
    assert set(proposed) == set(islands.enumerate())
    alone = drive(without_random(GBFS(neighbours=None).start(islands, 0)), 1000, judge_by(cost))
    assert set(alone) == {point(x, y) for x in (0, 1) for y in (0, 1)}


# --- Failures


def test_failed_states_are_not_expanded() -> None:
    search = GBFS(neighbours=None).start(GRID, 0)
    search.observe([failed(point(0, 0)), measured(point(8, 6), 5.0), failed(point(4, 3))])
    assert set(search.propose(2)) == set(GRID.neighbours(point(8, 6)))
    assert not search.queue


def test_a_first_state_that_fails_is_no_end() -> None:
    search = GBFS().start(GEMM, 0)
    search.observe([failed(config) for config in search.propose(1)])
    after = search.propose(12)
    assert len(after) == 12
    assert sum(GEMM.distance(config, UNTILED) > 1 for config in after) >= 10, "random ones"
    search.observe([failed(config) for config in after[:-1]])
    search.observe([measured(after[-1], 1.0)])
    assert all(GEMM.distance(config, after[-1]) == 1 for config in search.propose(4))


# --- Late results


def test_while_nothing_has_arrived_it_samples_the_first_state_and_then_the_space() -> None:
    search = GBFS().start(GEMM, 0)
    proposed = search.propose(30)
    assert_fresh(GEMM, proposed)
    assert proposed[0] == UNTILED
    assert all(GEMM.distance(config, UNTILED) == 1 for config in proposed[1:6])
    assert sum(GEMM.distance(config, UNTILED) > 1 for config in proposed[6:]) >= 20


def test_the_first_state_is_expanded_once() -> None:
    search = GBFS().start(GEMM, 0)
    [first, *_] = search.propose(4)
    search.observe([measured(first, 1.0)])
    assert not search.queue
    early = GBFS().start(GEMM, 0)
    early.observe([measured(config, 1.0) for config in early.propose(1)])
    assert len(early.queue) == 1


def test_what_others_propose_before_does_not_take_its_start() -> None:
    """``tune`` has the default of a task measured first: its result is not there yet."""
    search = GBFS().start(GEMM, 0)
    search.seen.add(Config({"m": (1, 2, 4, 8), "k": (2, 32), "n": (8, 4, 2, 1)}))
    assert search.propose(1) == [UNTILED]


def test_where_nothing_works_yet_it_starts_untiled() -> None:
    search = GBFS().start(GEMM, 0)
    search.observe([failed(Config({"m": (1, 2, 4, 8), "k": (2, 32), "n": (8, 4, 2, 1)}))])
    assert search.propose(1) == [UNTILED]


def test_a_start_that_is_being_measured_is_expanded() -> None:
    search = GBFS().start(GEMM, 0)
    search.seen.add(UNTILED)
    assert set(search.propose(2)) <= set(GEMM.neighbours(UNTILED))


def test_results_are_queued_as_they_arrive() -> None:
    search = GBFS(neighbours=None).start(GEMM, 0)
    proposed = search.propose(40)
    for late, seconds in ((proposed[20], 2.0), (proposed[10], 1.0)):
        search.observe([measured(late, seconds)])
    search.propose(40)
    assert not search.queue, "both are expanded, with nothing known of the others"


def test_the_order_of_results_makes_no_difference() -> None:
    forward, backward = GBFS().start(GEMM, 0), GBFS().start(GEMM, 0)
    cost = distance_cost(GEMM)
    for batch in range(20):
        configs = forward.propose(8)
        assert backward.propose(8) == configs
        # All different, so that no two are queued by their order.
        results = [measured(c, cost(c) + (8 * batch + i) / 1e4) for i, c in enumerate(configs)]
        forward.observe(results)
        backward.observe(results[::-1])


def test_it_goes_on_from_the_best_record_of_an_earlier_run() -> None:
    cost = distance_cost(GEMM)
    records = drive(GBFS().start(GEMM, 1), 100, judge_by(cost))
    search = GBFS(neighbours=None).start(GEMM, 0)
    search.observe([measured(config, cost(config)) for config in records])
    best = records[int(np.argmin([cost(config) for config in records]))]
    around = GEMM.neighbours(best)
    new = [config for config in around if config not in set(records)]
    assert new
    assert search.propose(len(new)) == new


def test_it_comes_to_the_best_of_a_mixed_space() -> None:
    space = space_named("mixed")
    cost = distance_cost(space)
    assert min(map(cost, drive(GBFS().start(space, 0), 300, judge_by(cost)))) == 1.0
