"""Candidates that estimates like most, wherever they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tunesmith.features import Coordinates
from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config, Ordinal, Space
from tunesmith.tuners import tuner
from tunesmith.tuners.auto.favourites import Favourites
from tunesmith.tuners.auto.tuner import AutoSearch
from tunesmith.tuners.view import View

SPACE = Space([Ordinal(name, tuple(range(16))) for name in "abcdef"])


def seconds(config: Config) -> float:
    """Least where every parameter is 11."""
    return math.exp(sum(abs(int(str(value)) - 11) for value in config.values()) / 8)


def estimates(configs: Sequence[Config]) -> Any:
    return np.array([seconds(config) for config in configs])


def favourites(view: View) -> Favourites:
    return Favourites(view, Coordinates(SPACE), np.random.default_rng(0))


def test_the_best_come_first_and_none_twice() -> None:
    found = favourites(View(SPACE, estimates))
    first = found.new(20, ())
    assert first.rows.shape == (20, Coordinates(SPACE).count)
    assert list(estimates(first.configs)) == sorted(estimates(first.configs))
    typical = np.median(estimates(SPACE.sample_many(200, np.random.default_rng(1))))
    assert estimates(first.configs).max() < 0.5 * typical
    others = found.new(20, set(first.configs))
    assert not set(others.configs) & set(first.configs)
    assert estimates(others.configs).min() >= estimates(first.configs).max()


def test_without_estimates_there_are_none() -> None:
    rng = np.random.default_rng(3)
    found = Favourites(View(SPACE), Coordinates(SPACE), rng)
    assert found.new(20, ()).configs == []
    assert rng.integers(100) == np.random.default_rng(3).integers(100), "no chance was used up"


def test_a_search_looks_at_them_wherever_it_is() -> None:
    """All that was observed is far from what estimates like."""
    near = [config for config in SPACE.sample_many(80, np.random.default_rng(2)) if far(config)]
    assert len(near) > 20
    fast = {}
    for liked in (0, 64):
        search = tuner("auto", liked=liked, random=0, varied=0).start_on(View(SPACE, estimates), 0)
        search.observe([Measurement(it, Outcome.NO_ERROR, (seconds(it),)) for it in near])
        search.propose(1)
        assert isinstance(search, AutoSearch)
        assert search._prospects is not None
        candidates = search._prospects.candidates.configs
        fast[liked] = sum(not far(config) for config in candidates)
    assert fast[64] >= 64 > fast[0], "what is near is slow"


def far(config: Config) -> bool:
    """Whether it is one of the slow ones."""
    return seconds(config) > 20.0
