"""Spaces, costs and trials to put a search through, with no program behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

import numpy as np

from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.space import (
    Categorical,
    Config,
    Constraint,
    Factorization,
    Ordinal,
    Permutation,
    Space,
)
from tunesmith.tuners import Search

Cost = Callable[[Config], float]

LARGE_SPACES = (
    "factorization",
    "permutation",
    "ordinal",
    "categorical",
    "mixed",
    "constrained",
    "guarded",
    "billions",
    "10^18",
)
SMALL_SPACES = ("one point", "fifteen points", "few valid", "five of 10^9")


@cache
def space_named(name: str) -> Space:
    """One of the spaces of the suite."""
    tiles = [Factorization("x", 64, 3), Factorization("y", 48, 3)]
    rest = [
        Permutation("order", ("i", "j", "k")),
        Ordinal("unroll", (0, 4, 16, 64)),
        Categorical("layout", ("NCHW", "NHWC")),
    ]
    digits = tuple(range(10))
    fixed = " and ".join(f"{name} == {place}" for place, name in enumerate("abcdefgh"))
    spaces = {
        "factorization": lambda: Space([Factorization("x", 4096, 4)]),
        "permutation": lambda: Space([Permutation("order", tuple(range(6)))]),
        "ordinal": lambda: Space([Ordinal("n", tuple(range(500)))]),
        "categorical": lambda: Space([Categorical("c", tuple(f"c{i}" for i in range(500)))]),
        "mixed": lambda: Space([*tiles, *rest]),
        "constrained": lambda: Space([*tiles, *rest], [Constraint("x[2] * y[2] <= 32")]),
        "guarded": lambda: Space(
            [
                Ordinal("use", (0, 1)),
                Ordinal("step", (0, 1, 2, 4)),
                Ordinal("n", tuple(range(500))),
            ],
            [Constraint("use == 0 or step > 0"), Constraint("use == 0 or n % step == 0")],
        ),
        "billions": lambda: Space([Factorization(n, 1 << 20, 4) for n in "abcd"]),
        "10^18": lambda: Space([Ordinal(n, digits) for n in "abcdefghijklmnopqr"]),
        "five of 10^9": lambda: Space(
            [Ordinal(name, digits) for name in "abcdefghi"], [Constraint(f"{fixed} and i % 2 == 1")]
        ),
        "one point": lambda: Space([Factorization("x", 1, 2)]),
        "fifteen points": lambda: Space([Factorization("x", 16, 3)]),
        "few valid": lambda: Space(
            [Ordinal("a", tuple(range(16))), Ordinal("b", tuple(range(16)))],
            [Constraint("a + b == 15")],
        ),
    }
    return spaces[name]()


def distance_cost(space: Space, seed: int = 0) -> Cost:
    """A smooth, separable cost: 1 at a hidden best config, 1 more for each step away from it."""
    # Two numbers, so that no search of the same seed draws the best config first.
    best = space.sample(np.random.default_rng((seed, 1)))
    return lambda config: 1.0 + space.distance(config, best)


def candidates(configs: Iterable[Config]) -> list[Candidate]:
    """What a measurer of a problem without sketches, or with one, takes."""
    return [Candidate(config) for config in configs]


def measured(config: Config, seconds: float) -> Measurement:
    """A successful trial."""
    return Measurement(config, Outcome.NO_ERROR, run_seconds=(seconds,))


def failed(config: Config, outcome: Outcome = Outcome.RUNTIME_DEVICE) -> Measurement:
    """A failed trial."""
    return Measurement(config, outcome, message="for the test")


def drive(
    search: Search,
    trials: int,
    judge: Callable[[Config], Measurement],
    batch: int = 8,
) -> list[Config]:
    """Propose and observe batch by batch, until the trials are used up or the search ends.

    Fails for a batch with a config that is invalid or comes twice.
    """
    proposed: list[Config] = []
    while len(proposed) < trials:
        configs = search.propose(min(batch, trials - len(proposed)))
        if not configs:
            break
        assert_fresh(search.space, configs)
        proposed += configs
        search.observe([judge(config) for config in configs])
    return proposed


def assert_fresh(space: Space, configs: Sequence[Config]) -> None:
    """Fail unless all configs are valid and no two are the same."""
    invalid = [config.key for config in configs if not space.contains(config)]
    assert not invalid, f"invalid proposals: {invalid[:3]}"
    assert len(set(configs)) == len(configs), "a config was proposed twice"
