"""Equation 4: what a model of other tasks adds, and how long."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from tunesmith.features.config_rows import ConfigRows
from tunesmith.measurement import Measurement
from tunesmith.models import cost_model
from tunesmith.models.scaled_process import ScaledProcess
from tunesmith.space import Config, Ordinal, Space
from tunesmith.testing.trials import measured
from tunesmith.tuners import View
from tunesmith.tuners.autotvm import AutoTVM
from tunesmith.tuners.autotvm.prior import GlobalPrior

Array = npt.NDArray[np.float64]
DIGITS = Space([Ordinal(name, tuple(range(1, 11))) for name in "abcdef"])


def total(config: Config) -> float:
    return float(sum(config.values()))  # type: ignore[arg-type] # digits


def speeds(configs: Sequence[Config]) -> Array:
    """Logarithms of speeds: the smallest digits are the fastest."""
    return np.array([-math.log2(total(config)) for config in configs])


def digits(name: str, configs: Sequence[Config]) -> Array:
    return np.array([config[name] for config in configs], dtype=np.float64)


def view(sign: float = 1.0) -> View:
    return View(DIGITS, transferred=lambda configs: 3.0 + sign * speeds(configs))


def prior_of(view: View) -> GlobalPrior:
    rows = ConfigRows(DIGITS)
    return GlobalPrior(view, rows, ScaledProcess(rows.coordinates.count))


def judge(config: Config) -> Measurement:
    return measured(config, total(config))


def sample(count: int) -> list[Config]:
    return DIGITS.sample_many(count, np.random.default_rng(1))


def test_it_takes_on_the_scale_of_the_values() -> None:
    configs = sample(32)
    values = 10.0 + 5.0 * speeds(configs)
    prior = prior_of(view())
    prior.learn(configs, values)
    weight = 2.0 ** (-32 / 64)
    expected = weight * (values - values.mean())
    np.testing.assert_allclose(prior.values(configs), expected)


def test_its_weight_halves_with_every_64_trials_and_ends() -> None:
    prior = prior_of(view())
    spreads = []
    for count in (64, 128, 256, 320):
        configs = sample(count)
        prior.learn(configs, speeds(configs))
        spreads.append(float(np.ptp(prior.values(configs))) / float(np.ptp(speeds(configs))))
    np.testing.assert_allclose(spreads, [0.5, 0.25, 0.0625, 0.0])
    assert not prior.counts


def test_what_has_the_order_the_wrong_way_round_says_nothing() -> None:
    configs = sample(32)
    prior = prior_of(view(-1.0))
    prior.learn(configs, speeds(configs))
    assert not prior.counts
    assert (prior.values(configs) == 0.0).all()


def test_a_config_that_cannot_run_takes_no_weight_from_it() -> None:
    """Sketches for GPUs estimate such a one as infinitely slow."""
    impossible, *configs = sample(33)
    hopeless = View(
        DIGITS,
        transferred=lambda asked: np.where(
            [config == impossible for config in asked], -math.inf, speeds(asked)
        ),
    )
    alone, beside = prior_of(hopeless), prior_of(hopeless)
    alone.learn(configs, speeds(configs))
    beside.learn([*configs, impossible], np.append(speeds(configs), 0.0))
    weight = 2.0 ** (-1 / 64)  # of one trial more
    np.testing.assert_allclose(beside.values(configs), weight * alone.values(configs))
    assert beside.values([impossible]) == beside.values(configs).min()
    assert impossible not in beside.favourites(100)[0]


def test_it_looks_again_where_all_that_it_saw_was_impossible() -> None:
    is_possible = False
    prior = prior_of(
        View(
            DIGITS,
            transferred=lambda asked: (
                speeds(asked) if is_possible else np.full(len(asked), -math.inf)
            ),
        )
    )
    prior.look(0)
    assert prior.favourites(4)[0] == []
    is_possible = True
    prior.look(1)
    assert len(prior.favourites(4)[0]) == 4


def test_what_has_nothing_but_impossible_configs_adds_nothing() -> None:
    prior = prior_of(View(DIGITS, transferred=lambda asked: np.full(len(asked), -math.inf)))
    prior.learn(sample(8), speeds(sample(8)))
    assert not prior.counts
    assert prior.favourites(4)[0] == []


def test_what_says_the_same_of_all_adds_nothing() -> None:
    configs = sample(32)
    prior = prior_of(View(DIGITS, transferred=lambda each: np.ones(len(each))))
    prior.learn(configs, speeds(configs))
    assert not prior.counts


def test_its_favourites_are_good() -> None:
    prior = prior_of(view())
    prior.look(0)
    configs, said = prior.favourites(20)
    assert len(configs) == 20
    np.testing.assert_allclose(said, 3.0 + speeds(configs))
    assert max(map(total, configs)) < min(map(total, sample(500)))


def test_it_looks_once_and_knows_what_was_tried() -> None:
    prior = prior_of(view())
    prior.look(0)
    first, _ = prior.favourites(30)
    prior.look(1)
    again, _ = prior.favourites(20, without=set(first[:10]))
    assert again == first[10:30]


def test_the_quick_copy_says_about_the_same() -> None:
    pytest.importorskip("xgboost", reason="XGBoost is not installed")
    rows = ConfigRows(DIGITS)
    quick = cost_model("boosted-trees", rows.coordinates.count, "regression")
    prior = GlobalPrior(view(), rows, quick)
    configs = sample(100)
    assert (prior.quick_values(rows.features(rows.of(configs))) == 0.0).all()
    prior.look(0)
    prior.learn(configs, speeds(configs))
    said, exact = prior.quick_values(rows.features(rows.of(configs))), prior.values(configs)
    assert np.corrcoef(said, exact)[0, 1] > 0.8


def test_the_first_batch_is_what_it_likes() -> None:
    pytest.importorskip("xgboost", reason="XGBoost is not installed")
    settings = AutoTVM(batch=32, chains=16, steps=20)
    search = settings.start_on(view(), 0)
    first = search.propose(32)
    random = settings.start_on(View(DIGITS), 0).propose(32)
    assert np.median([*map(total, first)]) < min(map(total, random))
    search.observe([judge(config) for config in first])
    second = search.propose(32)
    assert not set(first) & set(second)
    assert np.median([*map(total, second)]) < np.median([*map(total, random)])


def test_a_model_of_programs_learns_what_it_does_not_know() -> None:
    """Programs tell of ``a`` alone, and it of ``b`` alone: together they tell of both."""
    pytest.importorskip("xgboost", reason="XGBoost is not installed")
    known = View(
        DIGITS,
        transferred=lambda configs: -np.log2(digits("b", configs)),
        features=lambda configs, kind: digits("a", configs)[:, None],
    )
    search = AutoTVM(batch=64, features="context-relation").start_on(known, 0)
    tried = sample(48)
    search.observe([measured(c, digits("a", [c])[0] + digits("b", [c])[0]) for c in tried])
    values = np.array(search._speeds) / max(search._speeds)
    prior = search._weighty(values)
    assert prior is not None
    others = [config for config in sample(400) if config not in set(tried)]
    rows = search._rows.of(others)
    both, alone = search._scores(rows, values, prior), search._scores(rows, values, None)
    for scores, least in ((both, 0.3), (alone, -0.2)):
        of_a, of_b = (-np.corrcoef(scores, digits(name, others))[0, 1] for name in "ab")
        assert of_a > 0.3
        assert least < of_b < least + 0.6


def test_what_was_tried_before_counts_more_than_its_favourites() -> None:
    """A run that is resumed with many trials asks its own model at once."""
    pytest.importorskip("xgboost", reason="XGBoost is not installed")
    wrong = view(-1.0)
    search = AutoTVM(batch=32, chains=16, steps=40).start_on(wrong, 0)
    search.observe([judge(config) for config in sample(200)])
    batch = search.propose(32)
    prior = prior_of(wrong)
    prior.look(0)
    favourites, _ = prior.favourites(200)
    assert np.median([*map(total, batch)]) < np.median([*map(total, sample(200))])
    assert np.median([*map(total, batch)]) < min(map(total, favourites))


def test_fewer_trials_than_a_batch_leave_it_the_first_word() -> None:
    pytest.importorskip("xgboost", reason="XGBoost is not installed")
    search = AutoTVM(batch=32, chains=16, steps=40).start_on(view(), 0)
    search.observe([judge(config) for config in sample(31)])
    assert np.median([*map(total, search.propose(32))]) < min(map(total, sample(200)))


def test_it_can_be_switched_off() -> None:
    pytest.importorskip("xgboost", reason="XGBoost is not installed")
    settings = AutoTVM(batch=16, transfer=False)
    without = AutoTVM(batch=16).start_on(View(DIGITS), 0).propose(16)
    assert settings.start_on(view(), 0).propose(16) == without


def test_a_wrong_model_is_overcome() -> None:
    pytest.importorskip("xgboost", reason="XGBoost is not installed")
    search = AutoTVM(batch=32, chains=16, steps=80).start_on(view(-1.0), 0)
    for _ in range(4):
        configs = search.propose(32)
        search.observe([judge(config) for config in configs])
    assert np.median([*map(total, configs)]) < min(map(total, sample(100)))
