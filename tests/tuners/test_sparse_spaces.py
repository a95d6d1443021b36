"""Spaces that cannot be counted, of which hardly any config is valid: draws find some, or none."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from tunesmith.errors import SpaceError
from tunesmith.space import Config, Constraint, Ordinal, Space
from tunesmith.space.enumeration import component
from tunesmith.testing.trials import assert_fresh, measured
from tunesmith.tuners import View, tuner
from tunesmith.tuners.starts import StartFinder

NEEDS = {"na2c": "torch", "autotvm": "xgboost", "controller": "torch"}
TUNERS = (
    *("annealing", "auto", "autotvm", "controller", "gbfs", "genetic", "na2c", "nose", "opevo"),
    "random",
)
ONE = Config(dict.fromkeys("abcd", 0))


@pytest.fixture
def sparse(monkeypatch: pytest.MonkeyPatch) -> Space:
    """One config in forty is valid."""
    monkeypatch.setattr(component, "ROW_LIMIT", 1000)
    digits = tuple(range(50))
    return Space([Ordinal(name, digits) for name in "abcd"], [Constraint("(a+b+c+d) % 40 == 0")])


def assert_found(space: Space, name: str, trials: int) -> None:
    if (needed := NEEDS.get(name)) and find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    options = {"batch": 8} if name == "autotvm" else {}
    search = tuner(name, **options).start(space, 0)
    search.seen.add(ONE)  # as the default of a task is
    proposed: list[Config] = []
    while len(proposed) < trials and (configs := search.propose(4)):
        proposed += configs
        search.observe([measured(each, 1.0 + space.distance(each, ONE)) for each in configs])
    assert_fresh(space, proposed)
    assert ONE not in proposed
    assert len(proposed) >= trials // 2


@pytest.mark.parametrize("name", TUNERS)
def test_a_search_goes_on(name: str, sparse: Space) -> None:
    assert_found(sparse, name, 40)


def test_a_constraint_that_fails_is_no_config_that_is_hard_to_find(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(component, "ROW_LIMIT", 1000)
    digits = tuple(range(50))
    space = Space([Ordinal(name, digits) for name in "abcd"], [Constraint("100 // a + b + c > d")])
    search = tuner("random").start(space, 0)
    search.seen.add(Config(dict.fromkeys("abcd", 1)))
    with pytest.raises(SpaceError, match="modulo by zero"):
        search.propose(1000)


def test_a_sample_has_what_was_found(sparse: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component, "_MAX_DRAWS", 8)
    rng = np.random.default_rng(0)
    counts = []
    for _ in range(30):
        try:
            counts.append(len(sparse.sample_many(100, rng)))
        except SpaceError:
            counts.append(0)
    assert 0 < max(counts) < 100


class TestNothing:
    """Draws find none at all, though one is known."""

    @pytest.fixture
    def nothing(self, sparse: Space, monkeypatch: pytest.MonkeyPatch) -> Space:
        monkeypatch.setattr(component, "_MAX_DRAWS", 0)
        return sparse

    # The controller needs no draws: it writes configs until one is valid.
    @pytest.mark.parametrize("name", [name for name in TUNERS if name != "controller"])
    def test_a_search_ends(
        self, name: str, nothing: Space, caplog: pytest.LogCaptureFixture
    ) -> None:
        if (needed := NEEDS.get(name)) and find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
        search = tuner(name).start(nothing, 0)
        search.seen.add(ONE)
        search.observe([measured(ONE, 1.0)])
        assert search.propose(4) == []
        [told] = [record.getMessage() for record in caplog.records]
        assert "there are no further random configs: found no valid config in 0 draws" in told

    def test_a_search_that_knows_none_says_so(self, nothing: Space) -> None:
        for name in ("auto", "random"):
            with pytest.raises(SpaceError, match="found no valid config in 0 draws"):
                tuner(name).start(nothing, 0).propose(1)

    def test_there_are_no_starts(self, nothing: Space) -> None:
        view = View(nothing, lambda configs: np.ones(len(configs)))
        assert StartFinder().find(view, 4, 0) == []
