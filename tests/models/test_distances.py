"""Distances against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from tunesmith.models.distances import Distances, typical_distance


def test_distances_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(5)
    scales = rng.random(6) + 0.1
    some = rng.integers(0, 5, (40, 6)) / 4
    for known in (some, some - np.array([0.0, 0.6, 3.0, -1.0, 0.3, 0.0])):
        for points in (known, rng.random((30, 6)) - 0.5, np.zeros((2, 6)), known[:0], known - 9.0):
            expected = (np.abs(points[:, None] - known[None]) / scales).sum(axis=2)
            assert Distances(known, scales).to(points) == pytest.approx(expected, abs=1e-12)
    some = rng.normal(size=(160, 130))  # so many steps that they are added up
    assert Distances(some, np.ones(130))._known is not None
    expected = np.abs(some[:7, None] - some[None]).sum(axis=2)
    assert Distances(some, np.ones(130)).to(some[:7]) == pytest.approx(expected)
    some = rng.integers(0, 5, (40, 6)) / 4
    zeros = Distances(np.zeros((3, 6)), scales)  # no coordinate has a step
    assert zeros.to(some) == pytest.approx(np.tile((some / scales).sum(axis=1), (3, 1)).T)


def test_the_typical_distance_is_that_of_two_random_points() -> None:
    rng = np.random.default_rng(6)
    for count in (1, 20, 300):  # two numbers from 0 to 1 are a third apart
        assert typical_distance(rng.random((500, count))) == pytest.approx(count / 3, rel=0.15)
    assert typical_distance(np.ones((500, 3))) == 1.0
    assert typical_distance(np.ones((1, 3))) == 1.0
