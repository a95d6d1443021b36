"""Annealing on a model: what it finds, keeps and leaves out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tunesmith.features.config_rows import ConfigRows, Rows
from tunesmith.space import Constraint, Factorization, Ordinal, Space
from tunesmith.tuners.autotvm.chains import Best, Chains

NONE = np.empty(0, dtype=np.uint64)
DIGITS = Space([Ordinal(name, tuple(range(10))) for name in "abcdef"])


def total(rows: Rows) -> npt.NDArray[np.float64]:
    """The sum of the digits."""
    sums: npt.NDArray[np.float64] = rows.sum(axis=1).astype(np.float64)
    return sums


def chains(space: Space, count: int = 16) -> tuple[ConfigRows, Chains]:
    rows = ConfigRows(space)
    return rows, begun(rows, count, 0)


def begun(rows: ConfigRows, count: int, seed: int) -> Chains:
    """Chains that begin at random configs."""
    rng = np.random.default_rng(seed)
    return Chains(rows, rows.space.sample_many(count, rng), count, rng)


def test_it_climbs_to_the_best() -> None:
    _, search = chains(DIGITS)
    best = search.run(total, steps=400, keep=10, known=NONE)
    assert best.scores[0] == 54.0
    assert best.rows[0].tolist() == [9] * 6
    assert (total(best.rows) == best.scores).all()
    assert (np.diff(best.scores) <= 0.0).all()


def test_the_best_are_distinct() -> None:
    _, search = chains(DIGITS)
    best = search.run(total, steps=200, keep=50, known=NONE)
    assert len(best.rows) == 50
    assert len(np.unique(best.rows, axis=0)) == 50


def test_what_is_known_is_passed_through_and_not_returned() -> None:
    rows, search = chains(DIGITS)
    known = rows.keys(np.array([[9] * 6, [9, 9, 9, 9, 9, 8]]))
    best = search.run(total, steps=400, keep=10, known=known)
    assert not np.isin(rows.keys(best.rows), known).any()
    assert best.scores[0] == 53.0


def test_chains_go_on_from_where_they_were() -> None:
    _, search = chains(DIGITS)
    search.run(total, steps=300, keep=10, known=NONE)
    assert total(search.states).mean() > 45.0
    first = search.states.copy()
    search.run(total, steps=1, keep=10, known=NONE)
    assert (search.states != first).sum() <= len(first)


def test_only_valid_configs_are_visited() -> None:
    tiles = [Factorization("x", 64, 3), Factorization("y", 48, 3)]
    space = Space(tiles, [Constraint("x[2] * y[2] <= 16")])
    rows, search = chains(space)

    def score(visited: Rows) -> npt.NDArray[np.float64]:
        assert rows.valid(visited).all()
        return total(visited)

    best = search.run(score, steps=100, keep=20, known=NONE)
    assert all(space.contains(config) for config in rows.configs(best.rows))


def test_a_small_space_is_all_found() -> None:
    space = Space([Ordinal("a", (1, 2, 3)), Ordinal("b", (1, 2))])
    _, search = chains(space, count=8)
    best = search.run(total, steps=100, keep=64, known=NONE)
    assert len(best.rows) == 6


def test_it_stops_when_nothing_new_is_found() -> None:
    asked = []

    def score(visited: Rows) -> npt.NDArray[np.float64]:
        asked.append(len(visited))
        return total(visited)

    _, search = chains(Space([Ordinal("a", (1, 2, 3)), Ordinal("b", (1, 2))]), count=4)
    search.run(score, steps=500, keep=64, known=NONE)
    assert 50 <= len(asked) <= 80


def test_the_first_moves_are_nearly_free_and_the_last_ones_go_up_alone() -> None:
    """At temperature 1 a loss of 1 is accepted with probability 1/e, at 0 never."""
    space = Space([Ordinal("a", (0, 1))])
    rows = ConfigRows(space)
    accepted = []
    for seed in range(40):
        search = begun(rows, 50, seed)
        search.states[:] = 1
        search.run(total, steps=1, keep=1, known=NONE)
        accepted.append((search.states == 0).mean())
    assert abs(np.mean(accepted) - np.exp(-1.0)) < 0.05
    search = begun(rows, 50, 0)
    search.run(lambda visited: 1e3 * total(visited), steps=100, keep=2, known=NONE)
    assert (search.states == 1).all()


def test_chains_that_start_cold_only_go_up() -> None:
    _, search = chains(DIGITS)
    means = []
    for _ in range(5):
        means.append(total(search.states))
        search.run(total, steps=20, keep=10, known=NONE, hottest=0.0)
    assert all((after >= before).all() for before, after in pairwise(means))
    assert means[-1].mean() > means[0].mean()


def test_offers_that_are_no_better_change_nothing() -> None:
    rows = ConfigRows(DIGITS)
    best = Best(rows, 2, NONE)
    first = np.array([[1] * 6, [2] * 6, [1] * 6])
    assert best.offer(first, total(first))
    assert best.scores.tolist() == [12.0, 6.0]
    assert not best.offer(first, total(first))
    assert not best.offer(np.zeros((1, 6), dtype=np.int64), np.zeros(1))
    better = np.array([[3] * 6])
    assert best.offer(better, total(better))
    assert best.scores.tolist() == [18.0, 12.0]
