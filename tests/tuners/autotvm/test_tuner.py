"""AutoTVM against algorithm 1 of its paper."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.tuners.checks import assert_refused, assert_searches_huge_parameters
from tunesmith.errors import MissingDependencyError, UsageError
from tunesmith.measurement import Measurement
from tunesmith.models import CostModel, Prediction
from tunesmith.models.ensemble import BootstrapEnsemble
from tunesmith.space import Config, Ordinal, Space
from tunesmith.testing.trials import (
    assert_fresh,
    distance_cost,
    drive,
    failed,
    measured,
    space_named,
)
from tunesmith.testing.tuner import TunerConformance
from tunesmith.tuners import View, tuner
from tunesmith.tuners.autotvm import AutoTVM
from tunesmith.tuners.autotvm.search import AutoTVMSearch

pytest.importorskip("xgboost", reason="XGBoost is not installed")

Array = npt.NDArray[np.float64]
DIGITS = Space([Ordinal(name, tuple(range(1, 11))) for name in "abcdef"])


class TestAutoTVM(TunerConformance):
    tuner = AutoTVM(chains=32, steps=80)
    learns = True
    learning_trials = 192  # three batches


class TestEnsemble(TunerConformance):
    tuner = AutoTVM(
        batch=60,
        chains=16,
        steps=20,
        objective="regression",
        acquisition="expected-improvement",
    )


class TestGaussianProcess(TunerConformance):
    tuner = AutoTVM(
        batch=60,
        chains=16,
        steps=20,
        model="gaussian-process",
        acquisition="upper-confidence-bound",
        epsilon=0.5,
        diversity_weight=0.0,
    )


def start(**options: Any) -> AutoTVMSearch:
    return AutoTVM(**options).start(DIGITS, 0)


def judge(config: Config) -> Measurement:
    return measured(config, sum(config.values()))  # type: ignore[arg-type] # digits


def observe(search: AutoTVMSearch, count: int) -> list[Config]:
    configs = search.propose(count)
    search.observe([judge(config) for config in configs])
    return configs


def test_the_defaults_are_the_papers() -> None:
    settings = AutoTVM()
    assert (settings.batch, settings.epsilon) == (64, 0.05)
    assert (settings.chains, settings.steps) == (128, 500)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"batch": 0}, "batch must be 1 or more, not 0"),
        ({"epsilon": 1.5}, "epsilon must be between 0 and 1, not 1.5"),
        ({"diversity_weight": -1.0}, "diversity_weight must be a number from 0, not -1.0"),
        ({"acquisition": "median"}, "option acquisition must be 'mean' or 'expected-improvement'"),
    ],
)
def test_settings_out_of_range(options: dict[str, Any], reason: str) -> None:
    assert_refused(AutoTVM, options, reason)


def test_a_model_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="tuner 'autotvm': unknown cost model 'trees'"):
        tuner("autotvm", model="trees").start(DIGITS, 0)
    with pytest.raises(UsageError, match="tuner 'autotvm': cost model 'knn' has no choice"):
        tuner("autotvm", model="knn", objective="rank").start(DIGITS, 0)


def test_without_xgboost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'tunesmith\[models\]'"):
        AutoTVM().start(DIGITS, 0)
    assert AutoTVM(model="gaussian-process").start(DIGITS, 0).propose(3)


def test_the_model_finds_better_configs_than_the_random_ones_it_learned_from() -> None:
    search = start(batch=32)
    first = observe(search, 32)
    second = observe(search, 32)
    assert_fresh(DIGITS, first + second)
    assert np.median([sum(c.values()) for c in second]) < min(sum(c.values()) for c in first)  # type: ignore[arg-type]


@pytest.mark.parametrize("model", ["boosted-trees", "gaussian-process", "knn"])
def test_any_model_will_do(model: str) -> None:
    search = start(batch=24, chains=32, steps=60, model=model)
    first = observe(search, 24)
    second = observe(search, 24)
    assert_fresh(DIGITS, first + second)
    mean = np.mean([sum(c.values()) for c in second])  # type: ignore[arg-type]
    assert mean < np.mean([sum(c.values()) for c in first])  # type: ignore[arg-type]


def test_a_share_of_a_batch_is_random() -> None:
    search = start(batch=40, epsilon=0.5)
    observe(search, 40)
    second = observe(search, 40)
    totals = sorted(sum(c.values()) for c in second)  # type: ignore[arg-type]
    # 33 is expected of a random config; the model's are far better.
    assert totals[19] < 23 < totals[27]


def test_a_batch_is_planned_once() -> None:
    """What is learned while a batch is under way counts for the next one."""
    search = start(batch=16)
    observe(search, 16)
    planned = search.propose(4)
    left = [config for config in search._batch if config is not None]
    search.observe([judge(config) for config in planned])
    following = search.propose(12)
    assert [config for config in following if config in left] == left


def test_the_next_batch_is_planned_while_results_are_pending() -> None:
    search = start(batch=16)
    observe(search, 16)
    assert_fresh(DIGITS, search.propose(50))


@pytest.mark.parametrize(("seconds", "which"), [(1.0, "are equally fast"), (None, "failed")])
def test_without_a_difference_between_trials_configs_are_random(
    seconds: float | None, which: str, caplog: pytest.LogCaptureFixture
) -> None:
    search = start(batch=8)

    def same(config: Config) -> Measurement:
        return failed(config) if seconds is None else measured(config, seconds)

    proposed = drive(search, 40, same)
    assert_fresh(DIGITS, proposed)
    assert search._chains is None
    assert [each.getMessage() for each in caplog.records] == [
        f"tunesmith: tuner 'autotvm': all trials {which}, so there is nothing to learn from: "
        "configs are random until some differ"
    ]


def test_configs_of_others_count() -> None:
    """Starts and earlier runs: the model learns from them, and no batch repeats them."""
    search = start(batch=16)
    known = DIGITS.sample_many(16, np.random.default_rng(5))
    search.observe([judge(config) for config in known])
    batch = search.propose(16)
    assert_fresh(DIGITS, known + batch)
    assert np.median([sum(c.values()) for c in batch]) < np.median([sum(c.values()) for c in known])  # type: ignore[arg-type]


class Programs:
    """Programs of digits: their features tell the speed, unlike the first digit."""

    def __init__(self, broken: int = 0) -> None:
        self.broken = broken
        self.made: list[Config] = []

    def features(self, configs: Sequence[Config], kind: str) -> Array:
        assert kind == "context-relation"
        self.made += configs
        rows = [[math.nan] * 2 if c["f"] == self.broken else [c["a"], 1.0] for c in configs]
        return np.array(rows, dtype=np.float64).reshape(-1, 2)


def of_a(config: Config) -> Measurement:
    return measured(config, config["a"])  # type: ignore[arg-type] # a digit


def on_programs(known: Programs, **options: Any) -> AutoTVMSearch:
    tuner = AutoTVM(batch=40, epsilon=0.0, features="context-relation", **options)
    return tuner.start_on(View(DIGITS, features=known.features), 0)


def test_programs_of_the_best_few_are_made() -> None:
    programs = Programs()
    search = on_programs(programs, programs=100)
    first = search.propose(40)
    assert not programs.made
    search.observe([of_a(config) for config in first])
    second = search.propose(40)
    assert_fresh(DIGITS, first + second)
    assert set(first + second) <= set(programs.made)
    assert len(programs.made) == 40 + 100
    assert {config["a"] for config in second} <= {1, 2}  # diverse, and a 1 or a 2 is as rare


def test_configs_without_a_program_come_last() -> None:
    programs = Programs(broken=3)
    search = on_programs(programs)
    search.observe([of_a(config) for config in search.propose(40)])
    assert 3 not in {config["f"] for config in search.propose(40)}


def test_features_of_no_program_are_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Programs):
        def features(self, configs: Sequence[Config], kind: str) -> Array:
            return np.full((len(configs), 2), math.nan)

    search = on_programs(Broken())
    for _ in range(3):
        search.observe([of_a(config) for config in search.propose(40)])
    assert [each.getMessage() for each in caplog.records] == [
        "tunesmith: tuner 'autotvm': no program could be made yet, so nothing is learned from "
        "context-relation features"
    ]


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_features_that_are_no_numbers_are_told_of_and_the_others_learned(
    odd: float, caplog: pytest.LogCaptureFixture
) -> None:
    class Odd(Programs):
        def features(self, configs: Sequence[Config], kind: str) -> Array:
            rows = super().features(configs, kind)
            rows[:, 1] = odd
            return rows

    search = on_programs(Odd(broken=3))
    search.observe([of_a(config) for config in search.propose(40)])
    second = search.propose(40)
    assert {config["a"] for config in second} <= {1, 2}
    assert 3 not in {config["f"] for config in second}
    assert [each.getMessage() for each in caplog.records] == [
        "tunesmith: tuner 'autotvm': some context-relation features are no numbers: they count as 0"
    ]


class Unable(AutoTVM):
    """Has a model that cannot learn."""

    def made_model(self, features: int, *, loops: int = 1, regression: bool = False) -> CostModel:
        class Model:
            def fit(self, features: Array, values: Array) -> None:
                raise RuntimeError("out of memory\non the device")

            def predict(self, features: Array) -> Prediction:
                raise AssertionError("it has not learned")

        return Model()


def sums(configs: Sequence[Config]) -> Array:
    """What a model of other tasks says: a larger sum is faster."""
    return np.array([float(sum(config.values())) for config in configs])  # type: ignore[arg-type]


@pytest.mark.parametrize("transferred", [None, sums])
def test_a_search_goes_on_without_a_model_that_fails(
    transferred: Any, caplog: pytest.LogCaptureFixture
) -> None:
    search = Unable(batch=8).start_on(View(DIGITS, transferred=transferred), 0)
    assert_fresh(DIGITS, drive(search, 40, judge))
    assert [each.getMessage() for each in caplog.records] == [
        "tunesmith: tuner 'autotvm': the cost model failed (RuntimeError: out of memory on the "
        "device): the search goes on without it, configs are random"
    ]


@pytest.mark.parametrize(
    ("acquisition", "members", "expected"),
    [("mean", None, 0), ("mean", 5, 5), ("upper-confidence-bound", None, 5), ("mean", 1, 0)],
)
def test_how_many_models_predict_together(
    acquisition: Any, members: int | None, expected: int
) -> None:
    model = AutoTVM(acquisition=acquisition, members=members).made_model(2)
    assert isinstance(model, BootstrapEnsemble) == (expected > 0)
    assert not isinstance(model, BootstrapEnsemble) or model.members == expected


def test_one_model_alone_has_no_uncertainty() -> None:
    options = {"acquisition": "expected-improvement", "members": 1}
    assert_refused(AutoTVM, options, "members must be 2 or more")


def test_a_problem_without_programs() -> None:
    with pytest.raises(UsageError, match="there are no loop-context features: the problem has no"):
        AutoTVM(batch=8, features="loop-context").start(DIGITS, 0)


def test_a_batch_is_filled_up_with_random_configs() -> None:
    """Where the chains find no more new ones: otherwise each config would be planned by itself."""
    space = Space([Ordinal("a", tuple(range(1, 9))), Ordinal("b", tuple(range(1, 9)))])
    search = AutoTVM(batch=40, epsilon=0.0, chains=8, steps=5).start(space, 0)
    search.observe([of_a(config) for config in search.propose(40)])
    assert len(search._planned()) == 40


def test_parameters_with_more_values_than_can_be_listed() -> None:
    assert_searches_huge_parameters(AutoTVM(batch=10, chains=2, steps=5), 22)


def test_a_space_without_a_choice() -> None:
    search = AutoTVM(batch=2).start(space_named("one point"), 0)
    assert len(drive(search, 5, lambda config: measured(config, 1.0))) == 1


def test_where_no_random_config_is_left_the_plan_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    search = start(batch=8, epsilon=0.5, chains=16, steps=20)
    cost = distance_cost(DIGITS)
    drive(search, 8, lambda config: measured(config, cost(config)))
    monkeypatch.setattr(search, "fresh_config", lambda: None)
    assert len(search.propose(4)) == 4, "the half of the batch that is planned"


def test_the_device_of_a_model() -> None:
    with pytest.raises(UsageError, match="unknown device of boosted-trees 'cuda'"):
        start(device="cuda")
