"""Random search."""

from __future__ import annotations

from collections import Counter

from tunesmith.space import Categorical, Ordinal, Space
from tunesmith.testing.tuner import TunerConformance
from tunesmith.tuners import Random


class TestRandom(TunerConformance):
    tuner = Random()


def test_every_config_is_as_likely_as_any_other() -> None:
    space = Space([Ordinal("a", (1, 2, 3)), Categorical("b", ("x", "y"))], ["a != 2 or b == 'x'"])
    firsts = Counter(Random().start(space, seed).propose(1)[0] for seed in range(1000))
    assert set(firsts) == set(space.enumerate())
    # 200 of each expected; six standard deviations are 76.
    assert all(124 <= count <= 276 for count in firsts.values())


def test_the_last_configs_are_in_random_order_too() -> None:
    space = Space([Ordinal("n", tuple(range(4)))])
    lasts = Counter(Random().start(space, seed).propose(4)[-1]["n"] for seed in range(400))
    assert all(50 <= lasts[n] <= 150 for n in range(4))
