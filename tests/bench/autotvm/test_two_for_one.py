"""What runs tell of searches that have two trials for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.compare.runs import MEASURED, trace
from tunesmith.bench.autotvm.experiments import PARTS
from tunesmith.bench.autotvm.figures import part_figures
from tunesmith.bench.autotvm.two_for_one import two_for_one, with_doubles
from tunesmith.bench.compare.curves import speeds_over_trials
from tunesmith.bench.compare.runs import CompareSettings, Results, Run
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.summary import summarise
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


def test_curves_end_where_nothing_more_is_known() -> None:
    made_up = results_of(
        GBT=trace(SLOW, GOOD, GOOD, GOOD),
        GA=trace(SLOW, SLOW, BEST, BEST),
    )
    (plot,) = speeds_over_trials(summarise(with_doubles(made_up, 4)), {"GA × 2": 2})
    shares = {label: dict(zip(it.x, it.mean, strict=True)) for label, it in plot.curves.items()}
    low = pytest.approx(BEST / SLOW)
    assert shares["GA"] == {1: low, 2: low, 3: 1.0, 4: 1.0}
    assert shares["GA × 2"] == {1: low, 2: 1.0}
    assert list(shares["GBT"]) == [1, 2, 3, 4]


def test_the_measured_figure_has_the_lines_of_the_paper(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="charts need matplotlib")
    part, _ = PARTS["model"].installed()
    problems = part.problems(tmp_path, ["resnet18.C1"])
    comparison = part.comparison(problems, CompareSettings(1, trials=4), tmp_path)
    traces = {run: trace(SLOW, GOOD, BEST, BEST) for run in comparison.runs()}
    results = Results(problems, comparison.tuners, traces)
    figures, pictures = part_figures(part, comparison, results, "tunesmith bench autotvm")
    (drawn,) = pictures.values()
    assert figures["runs"] == {"done": len(part.lines), "planned": len(part.lines)}
    for name in ("GA", "GA × 2", "random", "random × 2", *(line.name for line in part.lines)):
        assert f">{name}</text>" in drawn
        assert name in {row["line"] for row in figures["two_for_one"]}


def test_an_odd_number_of_trials_leaves_the_last_one_out() -> None:
    rows = two_for_one(results_of(random=trace(SLOW, GOOD, BEST)), 3)
    assert [(row["line"], row["best"]) for row in rows] == [
        ("random", pytest.approx(GOOD / SLOW)),
        ("random × 2", 1.0),
    ]


def test_without_a_search_that_is_doubled_there_is_nothing_to_tell() -> None:
    assert two_for_one(results_of(GBT=trace(SLOW, GOOD)), 2) == []
