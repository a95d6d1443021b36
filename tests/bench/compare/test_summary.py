"""What runs come to: rows, scores and curves."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

from tests.bench.compare.records import OPTIMUM, record
from tests.bench.compare.runs import INF, MEASURED, summary_of, trace, two_tuners
from tunesmith.bench.compare.curves import (
    after_trials,
    speed_ups,
    speeds_over_time,
    speeds_over_trials,
)
from tunesmith.bench.compare.problems import MeasuredProblem, choose_problems
from tunesmith.bench.compare.report.files import compare_data
from tunesmith.bench.compare.report.page import compare_page
from tunesmith.bench.compare.report.tables import problem_tables, standings_table
from tunesmith.bench.compare.runs import CompareSettings, Results, Run
from tunesmith.bench.compare.summary import Summary, standard_error, summarise, trials_to
from tunesmith.bench.compare.tuners import choose_tuners


@pytest.fixture
def two() -> Summary:
    return two_tuners()


# -- rows -----------------------------------------------------------------------------------------


def test_a_row_of_a_measured_workload(two: Summary) -> None:
    rows = {cell.tuner.label: cell.row() for cell in two.cells}
    genetic = rows["genetic"]
    assert genetic["problem"] == "matmul.512"
    assert (genetic["score"], genetic["score_matched"]) == (None, None)
    assert genetic["best_seconds"] == 1e-3
    assert genetic["best_share"] == pytest.approx((1 + 1 / 1.04) / 2)
    shares = np.array([1.0, 1 / 1.04])
    assert genetic["best_share_variance"] == pytest.approx(shares.var(ddof=1))
    assert genetic["best_share_error"] == pytest.approx(shares.std(ddof=1) / math.sqrt(2))
    assert genetic["evaluations_to_95"] == 3.0, "after four, and after two"
    assert genetic["reached_95"] == 1.0
    assert genetic["invalid_rate"] == pytest.approx(2 / 6)
    assert genetic["thinking_ms_per_config"] == pytest.approx(1e3 * 5.5 / 6)
    assert (genetic["repeats"], genetic["crashed"], genetic["evaluations"]) == (2, 0, 3.0)
    assert genetic["outcomes"] == {"NO_ERROR": 4, "BUILD_TIMEOUT": 2}
    assert genetic["outcome_seconds"] == {"NO_ERROR": 12.0, "BUILD_TIMEOUT": 4.0}
    assert genetic["time"] == {
        **{"search": 2.75, "build": 6.0, "run": 2.0, "record": 1.5, "idle": 0.0}
    }
    assert (rows["random"]["evaluations_to_95"], rows["random"]["reached_95"]) == (None, 0.0)
    json.dumps(rows)


def test_traces_of_old_have_no_record() -> None:
    old = {"search": 2.0, "build": 6.0, "run": 2.0, "idle": 0.0}
    run = dataclasses.replace(trace(1e-3), time=old)
    (cell,) = summary_of([MEASURED], {"random": [[run]]}).cells
    assert cell.row()["time"] == {**old, "record": 0.0}


def test_the_best_first(two: Summary) -> None:
    assert [standing.tuner.label for standing in two.standings] == ["genetic", "random"]
    assert [cell.tuner.label for cell in two.on(MEASURED)] == ["genetic", "random"]
    assert two.labels == ["random", "genetic"]
    first = standings_table(compare_data(two, CompareSettings())).rows[0]
    assert [first[0], first[3]] == ["genetic", "98.1 %"]


def test_trials_to_a_value() -> None:
    assert trials_to(trace(3.0, INF, 2.0, 1.0), 2.0) == 3
    assert trials_to(trace(3.0), 2.0) == INF
    assert trials_to(trace(INF), INF) == INF


def test_the_standard_error() -> None:
    assert standard_error(np.array([1.0, 3.0])) == pytest.approx(1.0)
    assert standard_error(np.array([5.0])) == 0


def test_tuners_that_only_crashed(tmp_path: Path) -> None:
    problems = [MEASURED, *choose_problems([str(record(tmp_path))])]
    whole = summary_of(
        problems,
        {"grid": [[], []], "random": [[trace(2e-3)], [trace(OPTIMUM)]]},
        [("grid", 0, "ValueError: no"), ("grid", 0, "ValueError: no"), ("grid", 1, "gone")],
    )
    grid = whole.standings[1].row()
    assert (grid["tuner"], grid["crashed"], grid["score"]) == ("grid", 3, None)
    data = compare_data(whole, CompareSettings())
    table = problem_tables(data)[0]
    assert table.remarks == ["grid: 2 runs crashed: ValueError: no"]
    assert table.rows[1][0] == "grid"
    assert table.rows[1][-1] == "0, 2 crashed"
    assert standings_table(data).rows[1][-1] == "3"


def test_the_best_is_what_was_measured_again() -> None:
    """Curves, table, optimum and speed-ups agree where the machine was faster, or slower, when
    trials were measured."""
    lucky, unlucky = trace(2e-3, 1e-3, found=1.5e-3), trace(2e-3, 1.4e-3, found=1.2e-3)
    np.testing.assert_allclose(lucky.best, [3e-3, 1.5e-3])
    np.testing.assert_allclose(unlucky.best, [2e-3 * 1.2 / 1.4, 1.2e-3])
    whole = summary_of([MEASURED], {"genetic": [[lucky]], "random": [[unlucky]]})
    cells = {cell.tuner.label: cell for cell in whole.cells}
    assert {cell.optimum for cell in whole.cells} == {1.2e-3}, "not the 1 ms of a trial"
    assert cells["genetic"].best == pytest.approx([1.2 / 1.5])
    assert cells["random"].best == pytest.approx([1.0])
    assert (cells["genetic"].to_wanted, cells["random"].to_wanted) == (None, 2.0)
    for (plot,) in (speeds_over_time(whole), speeds_over_trials(whole)):
        for label, curve in plot.curves.items():
            assert curve.mean[-1] == pytest.approx(cells[label].best[0])
            assert curve.mean.max() <= 1.0
    found = speed_ups(whole)
    assert found is not None
    assert found[1].curves["random"].mean[-1] == pytest.approx(1.5 / 1.2)


def test_a_tuner_with_a_multiplier_goes_by_a_slower_clock() -> None:
    six = trace(8e-3, 4e-3, INF, 2e-3, 2e-3, 1e-3, thinking=6.0).slowed(2)
    three = trace(4e-3, 2e-3, 1e-3, thinking=3.0)
    whole = summary_of([MEASURED], {"random×2": [[six]], "genetic": [[three]]})
    twice, once = whole.cells
    assert (twice.tuner.label, twice.tuner.multiplier) == ("random×2", 2)
    row = twice.row()
    assert (row["evaluations"], row["evaluations_to_95"]) == (3.0, 3.0)
    assert row["outcomes"] == {"NO_ERROR": 5, "BUILD_TIMEOUT": 1}
    assert row["invalid_rate"] == pytest.approx(1 / 6)
    assert twice.thinking_ms == once.thinking_ms == 1e3, "by the real clock"
    assert row["time"]["search"] == 3.0
    (plot,) = speeds_over_trials(whole)
    curve = plot.curves["random×2"]
    assert curve.x.tolist() == [1, 2, 3]
    assert curve.mean.tolist() == pytest.approx([0.25, 0.5, 1.0])
    page, other = (
        compare_page(compare_data(each, CompareSettings()), []) for each in (whole, two_tuners())
    )
    assert "**×2** behind a tuner's name" in page
    assert "×" not in other


def test_nothing_valid_was_found() -> None:
    whole = summary_of([MEASURED], {"grid": [[trace(INF, INF)]], "random": [[trace(INF)]]})
    assert whole.cells[0].row()["best_seconds"] is None
    assert whole.cells[0].row()["best_share"] == 0
    assert speed_ups(whole) is None


# -- scores ---------------------------------------------------------------------------------------


def test_scores_of_recorded_spaces(tmp_path: Path) -> None:
    problems = choose_problems([str(record(tmp_path, name)) for name in ("one", "two")])
    at_once, never = trace(OPTIMUM), trace(INF)
    whole = summary_of(
        problems,
        {"grid": [[never] * 3, [at_once] * 3], "random": [[at_once] * 3, [at_once] * 3]},
    )
    first, second = whole.standings
    assert (first.tuner.label, second.tuner.label) == ("random", "grid")
    assert first.scores is not None and second.scores is not None
    scores = [cell.scores.paper.mean for cell in second.cells if cell.scores]
    assert second.scores.paper.mean == pytest.approx(sum(scores) / 2)
    assert scores[0] < 0 < scores[1]
    table = standings_table(compare_data(whole, CompareSettings()))
    assert table.rows[0][:2] == ["random", "1.00 ± 0.00"]


# -- curves ---------------------------------------------------------------------------------------


def test_speeds_over_time_and_trials(two: Summary) -> None:
    (plot,) = speeds_over_time(two)
    curve = plot.curves["random"]
    assert (curve.x[0], curve.x[-1]) == (0.0, 10.0), "the longest run has four trials"
    assert (curve.mean[0], curve.mean[-1]) == (0.0, pytest.approx((0.5 + 0.25) / 2))
    assert curve.error[-1] == pytest.approx(0.125)
    (plot,) = speeds_over_trials(two)
    curve = plot.curves["genetic"]
    assert curve.x.tolist() == [1, 2, 3]
    assert curve.mean.tolist() == pytest.approx([0.5, 0.75, 0.75])


def test_speed_ups_are_over_the_genetic_tuner(two: Summary) -> None:
    found = speed_ups(two)
    assert found is not None
    reference, plot = found
    assert reference == "genetic"
    assert set(plot.curves) == {"random"}
    curve = plot.curves["random"]
    assert curve.x[0] >= 0.3, "nothing was found before"
    assert curve.mean[0] == pytest.approx(0.5)
    assert curve.mean[-1] == pytest.approx(0.375 / ((1 + 1 / 1.04) / 2))


def test_speed_ups_begin_when_every_run_of_both_has_found_something() -> None:
    late, early = trace(INF, INF, INF, 1e-3), trace(1e-3, 1e-3, 1e-3, 1e-3)
    runs = {"genetic": [[early, late]], "random": [[early, early]], "grid": [[early, early]]}
    found = speed_ups(summary_of([MEASURED], runs))
    assert found is not None
    for curve in found[1].curves.values():
        # The late run has its first after 9 of 12 s.
        assert 0.75 <= curve.x[0] < 0.76
        assert curve.mean.tolist() == pytest.approx([1.0] * len(curve.x))
    runs = {"genetic": [[early, early]], "random": [[early, late]], "grid": [[early, early]]}
    found = speed_ups(summary_of([MEASURED], runs))
    assert found is not None
    starts = {label: float(curve.x[0]) for label, curve in found[1].curves.items()}
    assert starts == {
        "random": pytest.approx(0.75, abs=0.01),
        "grid": pytest.approx(0.25, abs=0.01),
    }
    never = {"genetic": [[early, trace(INF)]], "random": [[early, early]]}
    assert speed_ups(summary_of([MEASURED], never)) is None


def test_the_error_of_a_speed_up_is_that_of_both_tuners() -> None:
    steady, swift, slow = trace(1e-3, 1e-3), trace(1e-3, 1e-3), trace(2e-3, 2e-3)
    for runs in ([swift, slow], [steady, steady]):
        whole = summary_of([MEASURED], {"genetic": [runs], "random": [[steady, steady]]})
        found = speed_ups(whole)
        assert found is not None
        curve = found[1].curves["random"]
        # Half of the replicas have the swift run, and a ratio of 1, half the slow one, and 2.
        assert curve.error == pytest.approx(0.0 if slow not in runs else 0.5, rel=0.05)
        again = speed_ups(whole)
        assert again is not None
        assert again[1].curves["random"].error.tolist() == curve.error.tolist()


def test_without_the_genetic_tuner_the_first_is_the_reference() -> None:
    runs = {name: [[trace(2e-3, 1e-3), trace(1e-3, 1e-3)]] for name in ("random", "grid")}
    found = speed_ups(summary_of([MEASURED], runs))
    assert found is not None
    assert found[0] == "random"
    assert speed_ups(summary_of([MEASURED], {"random": [[trace(1.0)]]})) is None


# -- after so many trials --------------------------------------------------------------------------


def test_after_so_many_trials() -> None:
    """Runs with the same seed are compared; what has found nothing by then is left out."""
    slow, fast = [4.0] * 60, [1.0] * 60
    nothing = [INF] * 60
    both = summary_of(
        [MEASURED],
        {
            "genetic": [[trace(*slow), trace(*fast), trace(*slow)]],
            "random": [[trace(*fast), trace(*fast), trace(*nothing)]],
        },
    )
    found = after_trials(both)
    assert found["reference"] == "genetic"
    (row,) = found["rows"]
    assert (row["tuner"], row["problems"]) == ("random", "matmul.512")
    assert list(row["after"]) == ["25", "50"]
    assert row["after"]["50"] == pytest.approx([0.5, 0.5 * math.log(4.0) / 2])
    (table, *_) = problem_tables(compare_data(both, CompareSettings()))
    assert table.rows == [["random, matmul.512", "0.50 ± 0.35", "0.50 ± 0.35"]]


def test_what_is_compared_after_trials_has_the_same_seed() -> None:
    """Of one tuner the second repeat is missing, of the other one the third."""
    slow, half, eighth = (trace(*[seconds] * 30) for seconds in (8.0, 4.0, 1.0))
    tuners = choose_tuners(["genetic", "random"])
    results = Results([MEASURED], tuners)
    for tuner, runs in zip(tuners, ({0: slow, 2: eighth}, {0: half, 1: slow}), strict=True):
        for repeat, each in runs.items():
            results.traces[Run(MEASURED, tuner, repeat)] = each
    (row,) = after_trials(summarise(results))["rows"]
    assert row["after"]["25"] == pytest.approx([0.5, 0.0])


def test_all_problems_together_come_first() -> None:
    """Half the time on one problem, an eighth on the other: a quarter on both."""
    slow, half, eighth = (trace(*[seconds] * 30) for seconds in (8.0, 4.0, 1.0))
    both = summary_of(
        [MEASURED, MeasuredProblem("matmul.1024")],
        {"genetic": [[slow, slow], [slow, slow]], "random": [[half, half], [eighth, eighth]]},
    )
    rows = after_trials(both)["rows"]
    assert [row["problems"] for row in rows] == ["all problems", "matmul.512", "matmul.1024"]
    assert [row["after"]["25"][0] for row in rows] == pytest.approx([0.25, 0.5, 0.125])
    assert [row["after"]["25"][1] > 0.0 for row in rows] == [True, False, False]


def test_short_runs_are_not_compared_after_many_trials(two: Summary) -> None:
    assert after_trials(two)["rows"] == []
    assert problem_tables(compare_data(two, CompareSettings()))[0].title == "matmul.512"
