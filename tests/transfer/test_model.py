"""The model of other tasks: it corrects estimates, on tasks that it has not seen."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.transfer.made_up import SIZES, is_slow, problem_of, seconds_of, series
from tunesmith.errors import UsageError
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import conv2d
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.model import (
    GlobalModel,
    TooFewTrialsError,
    estimates_of,
    learn,
    transferred_of,
    unlearned,
)
from tunesmith.transfer.training_set import Series

GPU = Target(kind="cuda", arch="sm_90")

pytest.importorskip("xgboost", reason="XGBoost is not installed")


@pytest.fixture(scope="module")
def model() -> GlobalModel:
    return learn([series(size) for size in SIZES], origin={"scope": "here"})


def test_it_learns_what_the_estimates_do_not_know(model: GlobalModel) -> None:
    problem = problem_of(224)
    configs = problem.space.sample_many(200, np.random.default_rng(9))
    truth = np.log2(seconds_of(problem, configs))
    slow = np.array([is_slow(config) for config in configs])
    corrections = -model.log_speeds(problem, configs) - np.log2(problem.estimates(configs))
    assert corrections[slow].mean() - corrections[~slow].mean() == pytest.approx(1.0, abs=0.25)
    wrong = np.log2(problem.estimates(configs)) - truth
    left = -model.log_speeds(problem, configs) - truth
    assert left.std() < 0.5 * wrong.std()


def test_times_of_different_machines_are_not_compared(model: GlobalModel) -> None:
    """A machine that is four times as slow teaches the same."""
    own = [series(size) for size in SIZES]
    slow = [replace(each, seconds=4.0 * each.seconds, machine="slow") for each in own]
    both = learn([*own, *slow])
    assert (both.trials, both.tasks) == (2 * model.trials, model.tasks)
    problem = problem_of(224)
    configs = problem.space.sample_many(200, np.random.default_rng(9))
    difference = both.log_speeds(problem, configs) - model.log_speeds(problem, configs)
    assert difference.std() < 0.1


def test_seconds_have_the_order_of_the_speeds(model: GlobalModel) -> None:
    problem = problem_of(224)
    configs = problem.space.sample_many(40, np.random.default_rng(3))
    expected = np.exp2(-model.log_speeds(problem, configs))
    np.testing.assert_allclose(model.seconds(problem, configs), expected)
    assert model.seconds(problem, []).shape == (0,)


def test_what_it_learned_from(model: GlobalModel) -> None:
    assert (model.trials, model.tasks) == (120 * len(SIZES), len(SIZES))
    assert model.described == {
        "trials": 600,
        "tasks": 5,
        "scope": "here",
        "below": None,
    }


def test_a_sketch_that_it_does_not_know(model: GlobalModel) -> None:
    other = TaskProblem.of(problem_of(64).task, "cpu_tiled")
    assert not model.knows(other)
    configs = other.space.sample_many(5, np.random.default_rng(0))
    np.testing.assert_array_equal(model.seconds(other, configs), other.estimates(configs))
    assert transferred_of(other, model) is None


def test_a_sketch_of_another_version(model: GlobalModel) -> None:
    older = replace(model, sketches={name: at - 1 for name, at in model.sketches.items()})
    problem = problem_of(64)
    assert not older.knows(problem)
    configs = problem.space.sample_many(5, np.random.default_rng(0))
    np.testing.assert_array_equal(older.seconds(problem, configs), problem.estimates(configs))


def test_a_sketch_without_estimates_is_learned_from_its_configs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = [series(size) for size in SIZES]
    monkeypatch.setattr(TaskProblem, "estimate", lambda *_: None)
    blind = learn(known)
    problem = problem_of(224)
    configs = problem.space.sample_many(200, np.random.default_rng(9))
    slow = np.array([is_slow(config) for config in configs])
    speeds = blind.log_speeds(problem, configs)
    assert np.isfinite(speeds).all()
    assert speeds[~slow].mean() > speeds[slow].mean()
    nobody = replace(blind, sketches={})
    assert np.isnan(nobody.seconds(problem, configs)).all()


def test_one_model_corrects_another(model: GlobalModel) -> None:
    second = learn([series(size, seed=1) for size in SIZES], below=model)
    problem = problem_of(224)
    configs = problem.space.sample_many(200, np.random.default_rng(9))
    truth = -np.log2(seconds_of(problem, configs))
    of_first = model.log_speeds(problem, configs) - truth
    of_both = second.log_speeds(problem, configs) - truth
    of_estimates = -np.log2(problem.estimates(configs)) - truth
    assert max(of_first.std(), of_both.std()) < 0.3 * of_estimates.std()
    assert not np.array_equal(of_both, of_first)
    assert second.described["below"] == model.described


def test_a_model_that_has_learned_nothing() -> None:
    problem = problem_of(224)
    nothing = unlearned({problem.sketch.name: problem.sketch.version})
    configs = problem.space.sample_many(20, np.random.default_rng(0))
    said = transferred_of(problem, nothing)
    assert said is not None
    expected = -np.log2(problem.estimates(configs))
    np.testing.assert_array_equal(np.asarray(said(configs)), expected)
    assert transferred_of(problem, unlearned({})) is None
    assert nothing.described["trials"] == 0


def test_the_functions_of_a_problem(model: GlobalModel) -> None:
    problem = problem_of(224)
    configs = problem.space.sample_many(5, np.random.default_rng(0))
    said = transferred_of(problem, model)
    assert said is not None
    corrected = np.asarray(estimates_of(problem, model)(configs))
    np.testing.assert_allclose(corrected, np.exp2(-np.asarray(said(configs))))
    without = np.asarray(estimates_of(problem, None)(configs))
    np.testing.assert_array_equal(without, problem.estimates(configs))
    assert transferred_of(problem, None) is None


def test_too_few_trials() -> None:
    with pytest.raises(TooFewTrialsError, match="and there are 240: tune more"):
        learn([series(64), series(96)])
    with pytest.raises(TooFewTrialsError, match="there are 0"):
        learn([])


def test_series_of_other_versions_are_left_out() -> None:
    known = [series(size) for size in SIZES]
    old = replace(series(64), sketch_version=0)
    gone = replace(series(64), sketch="cpu_nobody")
    assert learn([*known, old, gone]).trials == 600


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_cannot_run_is_estimated_to_take_forever_with_a_model_too() -> None:
    """Configs that are too large for a GPU are neither learned from nor corrected."""
    task = Task(conv2d(ci=64, h=14, w=14, co=64, kernel=3, padding=1), GPU)
    problem = TaskProblem.of(task, "cuda_tiled")
    configs = problem.space.sample_many(300, np.random.default_rng(0))
    estimates = problem.estimates(configs)
    possible = np.isfinite(estimates)
    assert 0 < possible.sum() < 300
    version = problem.sketch.version
    seconds = 1e-3 * np.linspace(1.0, 1.001, 300)
    times = Series(task, "cuda_tiled", version, configs, seconds, frozenset())
    model = learn([times], least=100)
    corrected = model.seconds(problem, configs)
    assert np.isfinite(corrected[possible]).all()
    assert np.isinf(corrected[~possible]).all()
    spread = np.log(corrected[possible]).std()
    assert spread < 0.7 * np.log(estimates[possible]).std(), "all took about the same"


def test_all_failed() -> None:
    known = [series(size) for size in SIZES]
    broken = [replace(each, seconds=np.full(len(each.seconds), math.nan)) for each in known]
    with pytest.raises(UsageError, match="nothing to learn from: every trial failed"):
        learn(broken)


def test_all_took_the_same_time() -> None:
    known = [series(size) for size in SIZES]
    same = [replace(each, seconds=np.where(each.seconds > 0, 1e-3, np.nan)) for each in known]
    with pytest.raises(UsageError, match="nothing to learn from: all that worked of a task took"):
        learn(same)


def test_a_task_of_which_all_took_the_same_time_teaches_nothing() -> None:
    known = [series(size) for size in SIZES]
    other = series(224)
    other = replace(other, seconds=np.where(other.seconds > 0, 1e-3, np.nan))
    problem = problem_of(256)
    configs = problem.space.sample_many(50, np.random.default_rng(0))
    first, second = (learn(each).log_speeds(problem, configs) for each in (known, [*known, other]))
    assert np.abs(first - second).max() < 0.3
    assert np.corrcoef(first, second)[0, 1] > 0.99


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_is_no_time_of_a_call_teaches_like_a_failure() -> None:
    def learned(value: float) -> GlobalModel:
        known = [series(size) for size in SIZES]
        for each in known:
            each.seconds[:3] = value
        return learn(known)

    problem = problem_of(224)
    configs = problem.space.sample_many(50, np.random.default_rng(0))
    expected = learned(math.nan).log_speeds(problem, configs)
    for value in (0.0, -1.0, math.inf):
        np.testing.assert_array_equal(learned(value).log_speeds(problem, configs), expected)


def test_constant_speeds_leave_the_estimates_as_they_are() -> None:
    known = []
    for size in SIZES:
        each = series(size)
        estimates = problem_of(size).estimates(each.configs)
        known.append(replace(each, seconds=2.0 * estimates))
    model = learn(known)
    problem = problem_of(224)
    configs = problem.space.sample_many(50, np.random.default_rng(0))
    corrections = -model.log_speeds(problem, configs) - np.log2(problem.estimates(configs))
    assert np.ptp(corrections) < 0.01


def test_no_task_teaches_by_its_speed_alone() -> None:
    """A task that runs ten times as slow as estimated says nothing of how its configs compare."""
    known = [series(size) for size in SIZES]
    scaled = [
        replace(each, seconds=each.seconds * factor)
        for each, factor in zip(known, (1.0, 10.0, 0.1, 3.0, 1.0), strict=True)
    ]
    problem = problem_of(224)
    configs = problem.space.sample_many(50, np.random.default_rng(0))
    first, second = (learn(each).log_speeds(problem, configs) for each in (known, scaled))
    np.testing.assert_allclose(first, second, atol=1e-3)


def test_without_xgboost(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from tunesmith.errors import MissingDependencyError

    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(MissingDependencyError, match=r"tunesmith\[models\]"):
        learn([series(64)])
