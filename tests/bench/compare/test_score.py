"""Scores of searches: hand-computed cases, and random search, which shows what the two mean."""

from __future__ import annotations

import functools
import gzip
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from tunesmith.bench.compare.score import (
    TIMES,
    Baselines,
    Score,
    cutoff_evaluations,
    mean_score,
    performance,
    random_ranks,
    rank_values,
    ranks_of,
    score,
)
from tunesmith.errors import UsageError

INF = float("inf")
NINE = np.arange(10.0, 100.0, 10.0)  # 10, 20, …, 90
TWO = np.full(9, 2.0)
REPLAY = Path(__file__).parents[4] / "shared" / "data" / "replay"
RECORDED = (
    "convolution/A100",
    "convolution/A6000",
    "convolution/MI250X",
    "dedispersion/A100",
    "dedispersion/MI250X",
)

Arrays = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


def array(*values: float) -> npt.NDArray[np.float64]:
    return np.array(values)


# -- by hand --------------------------------------------------------------------------------------


def test_values_are_ranked_from_the_worst_and_without_the_invalid() -> None:
    ranked = rank_values(array(3, INF, 1, 2, 2))
    assert ranked.tolist() == [3, 2, 2, 1]
    assert ranks_of(ranked, array(3, 2, 1, INF)).tolist() == [0, 2, 3, -1]


def test_cutoffs() -> None:
    ranked = rank_values(NINE)
    # The median is 50. 0.95 of the way to 10 leaves 12: only the optimum is as good, so that the
    # one before it counts, of index 7, and 7 / (10 - 7) is rounded up.
    assert cutoff_evaluations(ranked, 0.95) == 3
    # 49.6 is reached by 40, of index 5, and 5 / (10 - 5) is 1.
    assert cutoff_evaluations(ranked, 0.01) == 1
    # 30 is reached by 30 itself: 6 / (10 - 6), rounded up.
    assert cutoff_evaluations(ranked, 0.5) == 2
    assert cutoff_evaluations(rank_values(np.ones(5)), 0.95) == 1, "never none"


def test_random_search_without_replacement() -> None:
    # k (N + 1) / (k + 1) for 9 values: 5, 6.67, 7.5 (to even), 8, 8.33, 9 (which is none of them)
    assert random_ranks(9, array(1, 2, 3, 4, 5, 9)).tolist() == [5, 7, 8, 8, 8, 8]


def test_the_baselines_of_nine_values() -> None:
    seconds = np.append(NINE, INF)
    baselines = Baselines.of(seconds, np.full(10, 2.0))
    assert (baselines.evaluations, baselines.budget, baselines.optimum) == (3, 6.0, 10.0)
    assert baselines.invalid_rate == pytest.approx(0.1)
    assert baselines.times[0] == 2.0
    assert baselines.times.shape == (TIMES,)
    # One evaluation before 3 s, two up to 5 s, three from there.
    at = dict(zip(baselines.times.tolist(), baselines.paper.tolist(), strict=True))
    assert {value for time, value in at.items() if time < 3} == {40}
    assert {value for time, value in at.items() if 3 < time < 5} == {20}
    assert {value for time, value in at.items() if time > 5} == {10}


def test_the_budget_is_of_median_trials_and_the_baselines_clock_of_mean_ones() -> None:
    costs = array(1, 1, 1, 1, 2, 3, 3, 3, 12)  # median 2, mean 3
    baselines = Baselines.of(NINE, costs)
    assert baselines.budget == 3 * 2.0
    at = dict(zip(baselines.times.tolist(), baselines.paper.tolist(), strict=True))
    assert {value for time, value in at.items() if time < 4.5} == {40}
    assert {value for time, value in at.items() if time > 4.5} == {20}


def test_a_run_by_hand() -> None:
    baselines = Baselines.of(NINE, TWO)
    ranks = baselines.ranks(array(2, 4, 6), array(40, 20, 10))
    found = baselines.curve(ranks[np.newaxis])
    at = dict(zip(baselines.times.tolist(), found.tolist(), strict=True))
    assert {value for time, value in at.items() if time < 4} == {40}
    assert {value for time, value in at.items() if 4 <= time < 6} == {20}
    assert at[6.0] == 10
    # Up to 3 s as good as random; up to 4 s (20 - 40) / (20 - 10); up to 5 s as good; from there
    # the baseline has the optimum, and nothing can be told.
    scores = score(baselines, ranks[np.newaxis])
    assert scores.paper.mean == pytest.approx(-2 / 3, abs=0.01)
    assert scores.paper.std == pytest.approx(0.0, abs=1e-9)


def test_a_run_that_has_nothing_yet_has_the_worst_value_and_keeps_its_best() -> None:
    baselines = Baselines.of(NINE, TWO)
    curve = baselines.curve(baselines.ranks(array(2.5, 3, 4), array(INF, 50, 70))[np.newaxis])
    at = dict(zip(baselines.times.tolist(), curve.tolist(), strict=True))
    assert {value for time, value in at.items() if time < 3} == {90}
    assert {value for time, value in at.items() if time > 3} == {50}
    nothing = baselines.ranks(array(), array())
    assert not nothing.any()


def test_the_median_is_of_ranks() -> None:
    baselines = Baselines.of(array(100, 9, 8, 7, 6, 5), np.ones(6))
    runs = [baselines.ranks(array(0.5), array(value)) for value in (100, 8, 5)]
    assert set(baselines.curve(np.array(runs)).tolist()) == {8}
    # Ranks 0 and 5 have 2.5 between them, which is rounded to even: rank 2.
    assert set(baselines.curve(np.array([runs[0], runs[2]])).tolist()) == {8}


def test_performance() -> None:
    baseline, optimum = array(9, 5, 3), 1.0
    assert performance(baseline, baseline, optimum) == 0
    assert performance(array(1, 1, 1), baseline, optimum) == 1
    assert performance(array(5, 1, 4), baseline, optimum) == pytest.approx((0.5 + 1 - 0.5) / 3)
    assert performance(array(9, 1, 1), array(5, 1, 1), optimum) == -1, "later nothing can be won"
    assert performance(array(1, 1, 1), array(1, 1, 1), optimum) == 0
    many = performance(np.array([[1, 1, 1], [9, 5, 3]]), baseline, optimum)
    assert many.tolist() == [1, 0]


def test_a_mean_score_and_its_deviation() -> None:
    mean = mean_score([Score(0.5, 0.3), Score(0.7, 0.4)])
    assert mean.mean == pytest.approx(0.6)
    assert mean.std == pytest.approx(0.25)


def test_the_optimum_at_once_scores_one() -> None:
    baselines = Baselines.of(NINE, TWO)
    ranks = np.array([baselines.ranks(array(1.0), array(10.0))] * 5)
    scores = score(baselines, ranks)
    assert (scores.paper, scores.matched) == (Score(1.0, 0.0), Score(1.0, 0.0))


@pytest.mark.parametrize(
    ("seconds", "costs", "message"),
    [
        (array(1, INF), array(1, 1), "fewer than two"),
        (array(INF, INF), array(1, 1), "fewer than two"),
        (array(1, 2), array(0, 0), "what its trials cost"),
        (array(1, 2), array(1, INF), "what its trials cost"),
        (array(1, 2), array(5, -1), "what its trials cost"),
    ],
)
def test_spaces_that_cannot_be_scored(
    seconds: npt.NDArray[np.float64], costs: npt.NDArray[np.float64], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        Baselines.of(seconds, costs)


def test_a_space_of_equal_values_scores_nothing() -> None:
    baselines = Baselines.of(np.ones(5), np.ones(5))
    ranks = baselines.ranks(array(1.0), array(1.0))[np.newaxis]
    assert score(baselines, ranks).paper == Score(0.0, 0.0)


# -- random search --------------------------------------------------------------------------------


def generated(seed: int) -> Arrays:
    """Values that spread over an order of magnitude, a tenth of them invalid, and costs."""
    rng = np.random.default_rng(seed)
    seconds = rng.lognormal(0.0, 0.8, 3000)
    seconds[rng.random(3000) < 0.1] = INF
    return seconds, rng.gamma(4.0, 0.5, 3000)


def recorded(name: str) -> Arrays:
    """A shared space."""
    with gzip.open(REPLAY / f"{name}.json.gz") as file:
        rows = json.load(file)["results"]
    seconds, costs = [], []
    for row in rows:
        times = row["times"]
        single = [value for value in times.values() if not isinstance(value, list)]
        costs.append((sum(single) + sum(times.get("runtimes", ()))) / 1e3)
        valid = row["invalidity"] == "correct"
        seconds.append(row["measurements"][0]["value"] if valid else INF)
    return np.array(seconds), np.array(costs)


@functools.cache
def recorded_scores(name: str) -> tuple[list[float], list[float]]:
    """Those of random searches on a shared space."""
    return random_scores(recorded(name), 12)


def random_scores(space: Arrays, replicas: int) -> tuple[list[float], list[float]]:
    """The scores, ``paper`` and ``matched``, of random searches with 25 repeats each."""
    seconds, costs = space
    baselines, rng = Baselines.of(seconds, costs), np.random.default_rng(0)
    paper, matched = [], []
    for _ in range(replicas):
        orders = [rng.permutation(len(costs)) for _ in range(25)]
        ranks = [baselines.ranks(np.cumsum(costs[order]), seconds[order]) for order in orders]
        scores = score(baselines, np.array(ranks))
        paper.append(scores.paper.mean)
        matched.append(scores.matched.mean)
    return paper, matched


def test_random_search_on_generated_spaces() -> None:
    paper, matched = [], []
    for seed in range(8):
        ours = random_scores(generated(seed), 6)
        paper += ours[0]
        matched += ours[1]
    assert 0.03 < np.mean(paper) < 0.3, "the published baseline's mean rank flatters medians"
    assert np.mean(matched) == pytest.approx(0.0, abs=0.04)
    assert np.std(matched) < 0.2


@pytest.mark.parametrize("name", RECORDED)
def test_random_search_on_a_recorded_space(name: str) -> None:
    if not (REPLAY / f"{name}.json.gz").is_file():
        pytest.skip(f"the recorded space {name} is not beside the checkout, in shared/data/replay")
    paper, matched = recorded_scores(name)
    assert 0.0 < np.mean(paper) < 0.35
    assert np.mean(matched) == pytest.approx(0.0, abs=0.2)


def test_random_search_over_the_recorded_spaces() -> None:
    names = [name for name in RECORDED if (REPLAY / f"{name}.json.gz").is_file()]
    if len(names) < len(RECORDED):
        pytest.skip("the recorded spaces are not beside the checkout, in shared/data/replay")
    scores = [recorded_scores(name) for name in names]
    assert np.mean([paper for paper, _ in scores]) == pytest.approx(0.16, abs=0.05)
    assert np.mean([matched for _, matched in scores]) == pytest.approx(0.0, abs=0.06)


def test_the_same_runs_score_the_same() -> None:
    baselines = Baselines.of(*generated(0))
    again = Baselines.of(*generated(0))
    assert (baselines.matched == again.matched).all()
    drawn = np.random.default_rng(0).integers(len(baselines.ranked), size=(25, TIMES))
    ranks = np.sort(drawn.astype(np.int32), axis=1)
    assert score(baselines, ranks) == score(again, ranks)
