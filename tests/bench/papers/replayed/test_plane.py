"""What searches visit in a space of two parameters."""

from __future__ import annotations

import numpy as np
import pytest

from tunesmith.bench.papers.replayed.plane import (
    TUNERS,
    PlaneSettings,
    plane_data,
    rewards,
    section,
    visited,
)

SMALL = PlaneSettings(side=12, hills=3, trials=30, functions=3)


def test_a_function_has_one_optimum_of_one() -> None:
    speeds = rewards(SMALL, 0)
    assert speeds.shape == (12, 12)
    assert speeds.max() == pytest.approx(1.0)
    assert speeds.min() == pytest.approx(0.1)
    np.testing.assert_array_equal(speeds, rewards(SMALL, 0))
    assert not np.array_equal(speeds, rewards(SMALL, 1))


@pytest.mark.parametrize("name", ["G-BFS", "random"])
def test_no_config_is_visited_twice(name: str) -> None:
    way = visited(name, rewards(SMALL, 0), SMALL, 0)
    assert len(way) == len(set(way)) == SMALL.trials
    assert all(0 <= x < 12 and 0 <= y < 12 for x, y in way)


def test_best_first_moves_to_neighbours() -> None:
    """Until its first region has nothing left, each config is next to one that was visited."""
    way = visited("G-BFS", rewards(SMALL, 0), SMALL, 0)
    for number, (x, y) in enumerate(way[1:], 1):
        assert any(abs(x - a) + abs(y - b) == 1 for a, b in way[:number])


def test_its_part_of_the_page() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    data, pictures = plane_data(SMALL)
    assert [row["tuner"] for row in data["tuners"]] == list(TUNERS)
    for row in data["tuners"]:
        assert 0.1 <= row["best"] <= 1.0
        assert 0.0 <= row["found"] <= 1.0
    assert list(pictures) == ["search-replay-plane-visited.svg"]
    page = section(data)
    assert "A search has 30 trials, 21 % of the space" in " ".join(page.split())
    assert "![what is visited](search-replay-plane-visited.svg)" in page
    assert "matplotlib is not installed" in section({**data, "pictures": {}})
