"""What runs tell of searches that have two trials for one."""

from __future__ import annotations

import pytest

from tests.bench.compare.runs import MEASURED, trace
from tunesmith.bench.autotvm.two_for_one import two_for_one
from tunesmith.bench.compare.runs import Results, Run
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.tuners import TunerChoice
from tunesmith.tuners import tuner

SLOW, GOOD, BEST = 3e-3, 1.01e-3, 1e-3


def results_of(**of_lines: Trace) -> Results:
    tuners = {name: TunerChoice(name, tuner("random")) for name in of_lines}
    traces = {Run(MEASURED, tuners[name], 0): each for name, each in of_lines.items()}
    return Results([MEASURED], list(tuners.values()), traces)


def test_two_trials_for_one_are_the_same_run_by_half_the_clock() -> None:
    """Of four trials: the GA is at its best after three, which are two that count double."""
    made_up = results_of(
        GBT=trace(SLOW, GOOD, GOOD, GOOD),
        GA=trace(SLOW, SLOW, BEST, BEST),
        random=trace(SLOW, SLOW, SLOW, SLOW),
    )
    rows = {row["line"]: row for row in two_for_one(made_up, 4)}
    assert {name: row["trials_to_95"] for name, row in rows.items()} == {
        "GBT": 2,
        "GA": None,
        "GA × 2": 2,
        "random": None,
        "random × 2": None,
    }
    assert rows["GA × 2"]["best"] == 1.0
    assert rows["GBT"]["best"] == pytest.approx(BEST / GOOD)
    assert rows["GA"]["best"] == pytest.approx(BEST / SLOW), "after two of its four trials"
    assert (rows["GBT"]["sooner"]["GA × 2"], rows["GBT"]["later"]["GA × 2"]) == (0.0, 0.0)
    assert rows["GBT"]["sooner"]["random × 2"] == 1.0


def test_an_odd_number_of_trials_leaves_the_last_one_out() -> None:
    rows = two_for_one(results_of(random=trace(SLOW, GOOD, BEST)), 3)
    assert [(row["line"], row["best"]) for row in rows] == [
        ("random", pytest.approx(GOOD / SLOW)),
        ("random × 2", 1.0),
    ]


def test_without_a_search_that_is_doubled_there_is_nothing_to_tell() -> None:
    assert two_for_one(results_of(GBT=trace(SLOW, GOOD)), 2) == []
