"""Synthetic spaces: the same for everyone, and such that there is something to find."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tunesmith.bench.synthetic.families import MEMBERS, synthetic, synthetic_names
from tunesmith.bench.synthetic.landscape import Landscape
from tunesmith.errors import UsageError
from tunesmith.measurement import Outcome
from tunesmith.space import Categorical, Factorization, Ordinal, Permutation, Space

FIRST = [name for name in synthetic_names() if name.endswith(".0")]


def test_each_family_has_several_members() -> None:
    families = {name.split(".")[1] for name in synthetic_names()}
    assert families == {"ordinals", "categories", "permutations", "mixed"}
    assert len(synthetic_names()) == MEMBERS * len(families)


@pytest.mark.parametrize("name", synthetic_names())
def test_it_is_large_and_random_configs_are_far_from_good_ones(name: str) -> None:
    landscape = synthetic(name)
    assert landscape.space.size > 1e11
    configs = landscape.space.sample_many(200, np.random.default_rng(7))
    seconds = [landscape.seconds(config) for config in configs]
    assert np.median(seconds) > 2.0 * min(seconds)
    assert max(seconds) > 4.0 * min(seconds)


@pytest.mark.parametrize("name", FIRST)
def test_a_config_always_takes_the_same(name: str) -> None:
    landscape, again = synthetic(name), synthetic.__wrapped__(name)
    for config in landscape.space.sample_many(20, np.random.default_rng(0)):
        assert again.measurement(config) == landscape.measurement(config)


def test_members_differ() -> None:
    one, other = synthetic("synthetic.ordinals.0"), synthetic("synthetic.ordinals.1")
    configs = one.space.sample_many(50, np.random.default_rng(0))
    found = np.array([[it.seconds(config) for config in configs] for it in (one, other)])
    assert abs(np.corrcoef(np.log(found))[0, 1]) < 0.8


@pytest.mark.parametrize(("member", "share"), [(0, 0.1), (1, 0.3), (2, 0.6)])
def test_so_many_configs_fail(member: int, share: float) -> None:
    landscape = synthetic(f"synthetic.mixed.{member}")
    configs = landscape.space.sample_many(500, np.random.default_rng(3))
    results = [landscape.measurement(config) for config in configs]
    failed = [it for it in results if it.outcome is Outcome.RUNTIME_DEVICE]
    assert abs(len(failed) / 500 - share) < 0.1
    assert all(it.run_time == 0.0 < it.build_time for it in failed)


@pytest.mark.parametrize(
    "parameter",
    [
        Ordinal("x", (1, 2, 4, 8, 16)),
        Factorization("x", 64, 3),
        Permutation("x", tuple("abcd")),
        Categorical("x", tuple("abcdefgh")),
    ],
    ids=lambda parameter: type(parameter).__name__,
)
def test_values_of_a_parameter_differ(parameter: object) -> None:
    space = Space([parameter])  # type: ignore[list-item]
    landscape = Landscape(space, 1, rugged=0.0)
    seconds = sorted(landscape.seconds(config) for config in space.enumerate())
    assert len({round(math.log(each), 9) for each in seconds}) > 3


def test_pairs_of_parameters_interact() -> None:
    """Without pairs the sum of two changes is the sum of what each does."""
    space = Space([Ordinal(name, tuple(range(1, 9))) for name in "ab"])

    def excess(pairs: int) -> float:
        landscape = Landscape(space, 0, pairs=pairs, rugged=0.0)
        logs = np.log([landscape.seconds(config) for config in space.enumerate()]).reshape(8, 8)
        mixed = logs - logs.mean(axis=0) - logs.mean(axis=1)[:, None] + logs.mean()
        return float(np.abs(mixed).max())

    assert excess(0) < 1e-9
    assert excess(1) > 0.01


def test_there_is_no_other() -> None:
    with pytest.raises(UsageError, match=r"synthetic space 'synthetic\.mixt\.0'.*mixed"):
        synthetic("synthetic.mixt.0")
