"""The problem of an experiment: nothing is known beforehand, but for what a model says."""

from __future__ import annotations

import numpy as np

from tunesmith.bench.compare.measured import estimates_alone
from tunesmith.bench.papers.problem import SearchProblem
from tunesmith.features.program.vectors import (
    ESTIMATE_COLUMNS,
    PROGRAM_FEATURES,
    without_estimates,
)
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import matmul
from tunesmith.tuners import tuner
from tunesmith.tuning.branches import Branches

PROBLEM = SearchProblem("small", matmul(m=96, n=96, k=96), "cpu_tiled")


def test_without_a_model_a_search_has_no_estimates_and_no_starts() -> None:
    search = Branches(PROBLEM.tuned, tuner("auto"), 0)
    search.find_starts()
    assert search.favourite is None
    assert not search.branches[0].view.has_estimates


def test_with_the_estimates_alone_it_begins_with_what_they_like() -> None:
    """A tuner asks by an empty list whether there are estimates."""
    search = Branches(PROBLEM.tuned, tuner("auto"), 0, estimates_alone(PROBLEM).model)
    search.find_starts()
    view = search.branches[0].view
    told = view.estimates([])
    assert told is not None
    assert told.shape == (0,)
    others = view.estimates(view.space.sample_many(100, np.random.default_rng(0)))
    begun = view.estimates([each.config for each in search.propose(8)])
    assert others is not None
    assert begun is not None
    assert begun.max() < np.median(others)
    assert search.favourite is not None


def test_features_of_programs_do_not_tell_what_the_sketch_estimates() -> None:
    configs = PROBLEM.tuned.space.sample_many(3, np.random.default_rng(0))
    for kind in PROGRAM_FEATURES:
        found = PROBLEM.tuned.features(configs, kind)
        whole = TaskProblem.of(PROBLEM.task, PROBLEM.sketch).features(configs, kind)
        assert found is not None
        assert whole is not None
        np.testing.assert_array_equal(found, without_estimates(whole, kind))
        assert found.shape[1] == whole.shape[1] - len(ESTIMATE_COLUMNS[kind])
