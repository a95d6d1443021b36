"""What runs come to: rows, curves, tables, figures and pages."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bench.compare_records import OPTIMUM, record
from tunesmith.bench.compare import CompareSettings, Crash, Results, Run
from tunesmith.bench.compare_curves import speed_ups, speeds_over_time, speeds_over_trials
from tunesmith.bench.compare_files import write_comparison
from tunesmith.bench.compare_plot import Pen, linear, pens, powers
from tunesmith.bench.compare_problems import MeasuredProblem, Problem, choose_problems
from tunesmith.bench.compare_summary import Summary, evaluations_to, standard_error, summarise
from tunesmith.bench.compare_tables import headline, problem_table, standings_table
from tunesmith.bench.compare_tuners import choose_tuners
from tunesmith.bench.simulated_trace import Trace
from tunesmith.budget import Stop
from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config

INF = math.inf
SETTINGS = CompareSettings(repeats=2)
CONFIG = Config({"a": 1})


def trace(*seconds: float, thinking: float = 0.5) -> Trace:
    """Trials of 3 s each, of which a failed one takes 2."""
    measurements = [
        Measurement(CONFIG, Outcome.NO_ERROR, (time,), 2.0, 1.0)
        if math.isfinite(time)
        else Measurement(CONFIG, Outcome.BUILD_TIMEOUT, (), 2.0, 0.0)
        for time in seconds
    ]
    ended = np.cumsum([3.0 if math.isfinite(time) else 2.0 for time in seconds]).tolist()
    built, ran = 2.0 * len(seconds), 1.0 * sum(map(math.isfinite, seconds))
    split = {"search": thinking, "build": built, "run": ran, "idle": 0.0}
    return Trace.of(measurements, ended, split, Stop.SECONDS)


def summary_of(
    problems: Sequence[Problem],
    runs: dict[str, list[list[Trace]]],
    crashes: Sequence[tuple[str, int, str]] = (),
) -> Summary:
    """The summary of the traces by tuner, a list of them for each problem."""
    tuners = choose_tuners(runs)
    results = Results(problems, tuners)
    for tuner in tuners:
        for problem, traces in zip(problems, runs[tuner.label], strict=True):
            for repeat, each in enumerate(traces):
                results.traces[Run(problem, tuner, repeat)] = each
        results.crashes += [
            Crash(Run(problems[place], tuner, 9), why)
            for label, place, why in crashes
            if label == tuner.label
        ]
    return summarise(results)


MEASURED = MeasuredProblem("matmul.512")


@pytest.fixture
def two() -> Summary:
    """Two tuners on a workload, whose best is 1 ms."""
    return summary_of(
        [MEASURED],
        {
            "random": [[trace(4e-3, INF, 2e-3), trace(4e-3, 4e-3, 4e-3)]],
            "genetic": [[trace(2e-3, INF, INF, 1.04e-3, thinking=5.0), trace(2e-3, 1e-3)]],
        },
    )


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
    assert genetic["time"] == {"search": 2.75, "build": 6.0, "run": 2.0, "idle": 0.0}
    assert (rows["random"]["evaluations_to_95"], rows["random"]["reached_95"]) == (None, 0.0)
    json.dumps(rows)


def test_the_best_first(two: Summary) -> None:
    assert [standing.tuner.label for standing in two.standings] == ["genetic", "random"]
    assert [cell.tuner.label for cell in two.on(MEASURED)] == ["genetic", "random"]
    assert two.labels == ["random", "genetic"]
    assert headline(two) == "genetic leads: 98.1 % of the best speed that any run found"


def test_evaluations_to_a_value() -> None:
    assert evaluations_to(trace(3.0, INF, 2.0, 1.0), 2.0) == 3
    assert evaluations_to(trace(3.0), 2.0) == INF
    assert evaluations_to(trace(INF), INF) == INF


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
    table = problem_table(whole, MEASURED)
    assert table.remarks == ["grid: 2 runs crashed: ValueError: no"]
    assert table.rows[1][0] == "grid"
    assert table.rows[1][-1] == "0, 2 crashed"
    assert standings_table(whole).rows[1][-1] == "3"
    assert_files(tmp_path / "out", whole)


def test_nothing_valid_was_found(tmp_path: Path) -> None:
    whole = summary_of([MEASURED], {"grid": [[trace(INF, INF)]], "random": [[trace(INF)]]})
    assert whole.cells[0].row()["best_seconds"] is None
    assert whole.cells[0].row()["best_share"] == 0
    assert speed_ups(whole) is None
    assert_files(tmp_path, whole)


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
    assert headline(whole).startswith("random leads: score ")
    assert headline(whole).endswith(" over 2 spaces")


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


def test_without_the_genetic_tuner_the_first_is_the_reference() -> None:
    runs = {name: [[trace(2e-3, 1e-3), trace(1e-3, 1e-3)]] for name in ("random", "grid")}
    found = speed_ups(summary_of([MEASURED], runs))
    assert found is not None
    assert found[0] == "random"
    assert speed_ups(summary_of([MEASURED], {"random": [[trace(1.0)]]})) is None


# -- drawing --------------------------------------------------------------------------------------


def test_axes() -> None:
    axis = linear(0.0, 1.0, str)
    assert axis.ticks == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert (axis.share(0.25), axis.share(-9), axis.share(9)) == (0.25, 0, 1)
    assert linear(3.0, 3.0, str).high > 3
    assert powers(60, str).ticks == [1, 2, 5, 10, 20, 50]
    assert powers(100, str).share(10) == pytest.approx(0.5)
    assert powers(1, str).high == 2


def test_every_tuner_has_a_line_of_its_own() -> None:
    many = pens([f"tuner {number}" for number in range(20)])
    assert len(set(many.values())) == 20
    assert many["tuner 0"] == Pen(many["tuner 8"].colour, "")


# -- files ----------------------------------------------------------------------------------------


class _Parts(HTMLParser):
    """The elements of a page, and what they would fetch."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.fetched: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href")]


def assert_files(folder: Path, whole: Summary, command: str = "") -> tuple[dict[str, Any], str]:
    """Write a comparison, and fail unless its files are sound."""
    folder.mkdir(exist_ok=True)
    data, page = write_comparison(folder, whole, SETTINGS, command)
    assert json.loads((folder / "compare.json").read_text()) == json.loads(json.dumps(data))
    assert page == (folder / "compare.md").read_text()
    assert max(map(len, page.splitlines())) <= 100
    pictures = {path.name for path in folder.glob("*.svg")}
    assert {f"({name})" in page for name in pictures} == {True}
    for name in pictures:
        drawn = ET.parse(folder / name)
        assert "nan" not in (folder / name).read_text()
        assert drawn.getroot().tag.endswith("svg")
    parts = _Parts((folder / "compare.html").read_text())
    assert parts.fetched == []
    assert "script" not in parts.names
    assert parts.names.count("svg") == len(pictures)
    return data, page


def test_the_files_of_a_measured_comparison(two: Summary, tmp_path: Path) -> None:
    data, page = assert_files(tmp_path, two)
    assert {path.name for path in tmp_path.glob("*.svg")} == {
        *("compare-time.svg", "compare-trials.svg", "compare-speed-up.svg"),
        *("compare-time-split.svg", "compare-outcomes.svg", "compare-outcome-times.svg"),
    }
    assert "## matmul.512" in page
    assert "1.00 ms" in page
    assert "score" not in page.partition("## What the figures mean")[2]
    assert data["problems"] == [{"problem": "matmul.512", "kind": "measured"}]
    assert [row["tuner"] for row in data["tuners"]] == ["genetic", "random"]


def test_the_files_of_recorded_spaces(tmp_path: Path) -> None:
    problems = choose_problems([str(record(tmp_path, name)) for name in ("one", "two")])
    runs = [[trace(2e-3, 1.5e-3, OPTIMUM), trace(INF, 2e-3)]] * 2
    whole = summary_of(problems, {"genetic:population=8": runs, "random": runs})
    data, page = assert_files(tmp_path / "out", whole, command="tunesmith compare '<b>'")
    assert (tmp_path / "out" / "compare-scores.svg").is_file()
    wanted = {
        *("tuner", "problem", "score", "score_std", "score_matched", "evaluations_to_95"),
        *("invalid_rate", "thinking_ms_per_config"),
    }
    assert len(data["rows"]) == 4
    assert all(row.keys() >= wanted for row in data["rows"])
    assert data["problems"][0]["configs"] == 144
    assert "144 configs on record, 8.3 % of them invalid" in page
    assert "With fewer than 25 repeats scores are rough: there are 2." in page
    assert "- genetic [1]: genetic:population=8\n" in page
    assert "\n| genetic [1] | " in page
    html = (tmp_path / "out" / "compare.html").read_text()
    assert "&lt;b&gt;" in html
    assert "<strong>score</strong>" in html
