"""The line of values over estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from tunesmith.space import Config, Ordinal, Space
from tunesmith.testing.trials import measured
from tunesmith.tuners import View
from tunesmith.tuners.auto import Auto
from tunesmith.tuners.auto.trend import Trend

Array = npt.NDArray[np.float64]
DIGITS = Space([Ordinal(name, tuple(range(1, 11))) for name in "abcdef"])
CONFIGS = DIGITS.sample_many(40, np.random.default_rng(0))


def total(config: Config) -> float:
    return float(sum(config.values()))  # type: ignore[arg-type] # digits


def logs() -> Array:
    return np.log([total(config) for config in CONFIGS])


def trend(sign: float = 1.0) -> Trend:
    return Trend(View(DIGITS, lambda configs: np.array([total(c) ** sign for c in configs])))


def test_it_goes_through_values_that_follow_the_estimates() -> None:
    values = 3.0 * (logs() - logs().mean())
    found = trend()
    np.testing.assert_allclose(found.fit(CONFIGS, values), values, atol=1e-9)
    np.testing.assert_allclose(found.of(CONFIGS[:5]), values[:5], atol=1e-9)


def test_what_it_is_fitted_to_grows() -> None:
    """It asks for the estimate of each once, and says what one that begins anew would say."""
    asked: list[Config] = []

    def estimates(configs: Sequence[Config]) -> Array:
        asked.extend(configs)
        return np.array([total(config) for config in configs])

    values = 3.0 * logs() - logs() ** 2
    growing = Trend(View(DIGITS, estimates))
    for count in (5, 10, 11, 40):
        found = growing.fit(CONFIGS[:count], values[:count])
        np.testing.assert_allclose(found, trend().fit(CONFIGS[:count], values[:count]), atol=1e-12)
    assert sorted(map(hash, asked)) == sorted(map(hash, CONFIGS))


def test_estimates_that_are_the_wrong_way_round_say_nothing() -> None:
    found = trend(-1.0)
    assert (found.fit(CONFIGS, logs() - logs().mean()) == 0.0).all()
    assert (found.of(CONFIGS) == 0.0).all()


def test_a_few_values_are_chance() -> None:
    assert (trend().fit(CONFIGS[:7], logs()[:7] - logs()[:7].mean()) == 0.0).all()


def test_without_estimates_it_is_0() -> None:
    found = Trend(View(DIGITS))
    assert (found.fit(CONFIGS, logs()) == 0.0).all()
    assert (found.of(CONFIGS) == 0.0).all()


@pytest.mark.parametrize("unknown", [math.nan, 0.0, -1.0])
def test_configs_without_an_estimate_are_in_the_middle(unknown: float) -> None:
    some = Trend(
        View(
            DIGITS,
            lambda configs: np.array([unknown if c["a"] == 1 else total(c) for c in configs]),
        )
    )
    found = some.fit(CONFIGS, logs() - logs().mean())
    without = np.array([config["a"] == 1 for config in CONFIGS])
    assert (found[without] == 0.0).all()
    assert np.ptp(found[~without]) > 0.1


@pytest.mark.parametrize("value", [math.nan, 1.0])
def test_estimates_that_tell_nothing_apart(value: float) -> None:
    found = Trend(View(DIGITS, lambda configs: np.full(len(configs), value)))
    assert (found.fit(CONFIGS, logs() - logs().mean()) == 0.0).all()


def best_of(view: View, seed: int) -> float:
    search = Auto().start_on(view, seed)
    seen = []
    for _ in range(16):
        (config,) = search.propose(1)
        seen.append(total(config))
        search.observe([measured(config, total(config))])
    return min(seen)


def test_auto_finds_more_with_good_estimates_and_no_less_with_bad_ones() -> None:
    rng = np.random.default_rng(1)
    noise = {config: float(rng.normal()) for config in CONFIGS}
    good = View(DIGITS, lambda configs: np.array([total(c) for c in configs]))
    bad = View(DIGITS, lambda configs: np.array([2.0 ** noise.get(c, 0.0) for c in configs]))
    seeds = range(5)
    of_good, of_bad, of_none = (
        np.mean([best_of(view, seed) for seed in seeds]) for view in (good, bad, View(DIGITS))
    )
    assert of_good < of_none
    assert of_bad < 1.5 * of_none
