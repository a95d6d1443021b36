"""Good starts: the configs that an estimate likes, found in a second and not alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tunesmith.space import Config, Factorization, Ordinal, Space
from tunesmith.tuners.starts import Start, StartFinder, diverse
from tunesmith.tuners.view import View

Array = npt.NDArray[np.float64]

SPACE = Space([Ordinal(name, tuple(range(50))) for name in "abcd"])
TARGET = Config({"a": 7, "b": 31, "c": 44, "d": 12})


def off_target(config: Config) -> float:
    return 1.0 + sum(abs(int(str(config[name])) - int(str(TARGET[name]))) for name in "abcd")


Estimate = Callable[[Config], float | None]


def view(space: Space, estimate: Estimate) -> View:
    """A space with a model."""

    def estimates(configs: Sequence[Config]) -> Array:
        found = map(estimate, configs)
        return np.array([math.nan if one is None else one for one in found])

    return View(space, estimates)


def test_neighbours_lead_to_what_samples_miss() -> None:
    """One config in six million is the best: no sample finds it, but a walk downhill does."""
    finder = StartFinder(samples=500, rounds=200)
    starts = finder.find(view(SPACE, off_target), 5, seed=1)
    assert starts[0] == Start(TARGET, 1.0)
    assert len(starts) == 5


def test_rounds_and_neighbours_bound_the_work() -> None:
    asked: list[Config] = []

    def count(config: Config) -> float:
        asked.append(config)
        return off_target(config)

    finder = StartFinder(samples=300, beam=3, neighbours=10, rounds=4)
    finder.find(view(SPACE, count), 5, seed=1)
    assert 300 < len(asked) <= 300 + 3 * 10 * 4
    assert len(set(asked)) == len(asked), "no config is estimated twice"


def test_the_same_seed_finds_the_same() -> None:
    one, same, other = (StartFinder().find(view(SPACE, off_target), 8, seed) for seed in (3, 3, 4))
    assert one == same != other


def test_starts_are_valid_and_begin_with_the_best() -> None:
    others = [Ordinal(name, (1, 2, 3)) for name in "lmn"]
    space = Space([Factorization("tile", 4096, 3), *others])
    starts = StartFinder().find(view(space, lambda config: float(len(config.key))), 8, seed=0)
    assert all(space.contains(start.config) for start in starts)
    assert starts[0].estimate == min(start.estimate for start in starts)


def test_what_is_made_differently_comes_before_a_copy_that_is_hardly_faster() -> None:
    best, copy, other, far = (
        Start(Config({"a": a, "b": b, "c": c}), time)
        for a, b, c, time in ((1, 1, 1, 1.0), (1, 1, 2, 1.01), (2, 2, 3, 1.2), (3, 3, 4, 2.0))
    )
    assert diverse([best, copy, other, far], 4) == [best, other, copy, far]


def test_what_the_estimate_does_not_see_makes_no_difference() -> None:
    def estimate(config: Config) -> float:
        return 1.0 + int(str(config["a"]))

    starts = StartFinder().find(view(SPACE, estimate), 50, seed=0)
    assert sorted(start.config["a"] for start in starts) == list(range(50))


def test_what_has_no_estimate_is_no_start() -> None:
    def some(config: Config) -> float | None:
        return off_target(config) if int(str(config["a"])) > 25 else None

    starts = StartFinder().find(view(SPACE, some), 8, seed=0)
    assert starts and all(int(str(start.config["a"])) > 25 for start in starts)
    assert StartFinder().find(view(SPACE, lambda config: None), 8, seed=0) == []
    assert StartFinder().find(View(SPACE), 8, seed=0) == [], "there is no model"
