"""Pages, figures and data of comparisons."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.bench.charts import bars, dots, points, texts
from tests.bench.compare.records import OPTIMUM, record
from tests.bench.compare.runs import INF, MEASURED, summary_of, trace, two_tuners
from tunesmith.bench.compare.problems import choose_problems
from tunesmith.bench.compare.progress import CompareProgress
from tunesmith.bench.compare.report.bar_charts import outcomes_chart, score_chart, time_split_chart
from tunesmith.bench.compare.report.curve_charts import (
    line_styles,
    speed_time_chart,
    speed_trials_chart,
)
from tunesmith.bench.compare.report.files import write_comparison
from tunesmith.bench.compare.runs import CompareSettings
from tunesmith.bench.compare.summary import Summary
from tunesmith.bench.pages.charts import count_axis, new_figure, svg_text

SETTINGS = CompareSettings(repeats=2)


@pytest.fixture
def two() -> Summary:
    return two_tuners()


# -- drawing --------------------------------------------------------------------------------------


def test_every_tuner_has_a_line_of_its_own() -> None:
    many = line_styles([f"tuner {number}" for number in range(20)])
    assert len({tuple(style.values()) for style in many.values()}) == 20
    assert many["tuner 0"] == {**many["tuner 8"], "linestyle": "-"}


def test_curves_are_means_with_bands_of_their_errors(two: Summary) -> None:
    """After three trials the best are 2 ms and 4 ms, 2 ms and 1 ms, which is the optimum."""
    figure = speed_trials_chart(two)
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "matmul.512"
    assert {"random", "genetic", "trials", "matmul.512", "100%"} <= texts(figure)
    genetic, random = axes.lines[:2]  # the best first
    assert points(random)[0] == pytest.approx((1.0, 0.25))
    assert points(random)[-1][1] == pytest.approx((0.5 + 0.25) / 2)
    assert points(genetic)[-1] == pytest.approx((3.0, (0.5 + 1.0) / 2)), "after three trials"
    assert random.get_color() != genetic.get_color()
    assert len(axes.collections) == 2, "a band each"
    top = axes.collections[1].get_paths()[0].get_extents().y1
    error = abs(0.5 - 0.25) / 2
    assert top == pytest.approx(0.375 + error)
    over_time = speed_time_chart(two).axes[0]
    assert over_time.get_xlabel() == "time of tuning, s"
    assert over_time.get_xlim() == pytest.approx((0.0, 10.0))


def test_the_legend_names_what_is_drawn(two: Summary) -> None:
    both = speed_trials_chart(two)
    cells = [replace(cell, runs={}) if cell.tuner.label == "random" else cell for cell in two.cells]
    figure = speed_trials_chart(replace(two, cells=cells))
    assert {"random", "genetic"} <= texts(both)
    assert "genetic" in texts(figure)
    assert "random" not in texts(figure)
    colours = [each.axes[0].lines[0].get_color() for each in (both, figure)]
    assert colours[0] == colours[1], "the GA's, whether others have runs or not"


def test_bars_are_the_mean_shares_of_each_tuner(two: Summary) -> None:
    rows = [cell.row() for cell in two.cells]
    figure = outcomes_chart(rows, ["genetic", "random"])
    (axes,) = figure.axes
    assert {"genetic", "random", "valid", "build timeout"} <= texts(figure)
    assert [width for _, _, width, _ in bars(axes)] == pytest.approx([4 / 6, 5 / 6, 2 / 6, 1 / 6])
    assert [left for left, *_ in bars(axes)] == pytest.approx([0, 0, 4 / 6, 5 / 6])
    split = time_split_chart(rows, ["genetic", "random"])
    assert {"thinking", "building", "running", "keeping records", "idle"} <= texts(split)


def test_scores_are_bars_and_those_of_problems_dots() -> None:
    tuners: list[dict[str, Any]] = [
        {"tuner": "a", "score": 0.5, "score_std": 0.1},
        {"tuner": "b", "score": None},
    ]
    rows: list[dict[str, Any]] = [
        {"tuner": "a", "problem": "x", "score": 0.75},
        {"tuner": "a", "problem": "y", "score": 0.25},
        {"tuner": "b", "problem": "x", "score": -9.0},
        {"tuner": "b", "problem": "y", "score": None},
    ]
    figure = score_chart(rows, tuners)
    assert figure is not None
    (axes,) = figure.axes
    assert dots(axes) == [(-1.0, 1.0), (0.25, 0.0), (0.75, 0.0)]
    assert [width for _, _, width, _ in bars(axes)] == [0.5]
    assert "those under -1 are at -1" in texts(figure)
    assert score_chart(rows[3:], tuners) is None


def test_an_axis_of_counts_begins_at_1() -> None:
    axes = new_figure(3.0).subplots()
    count_axis(axes, 60)
    assert axes.get_xlim() == (1, 60)
    shown = [tick for tick in axes.get_xticks().tolist() if 1 <= tick <= 60]
    assert shown == pytest.approx([1, 2, 5, 10, 20, 50])
    count_axis(axes, 1)
    assert axes.get_xlim() == (1, 2)


def test_the_same_figures_make_the_same_chart(two: Summary) -> None:
    first, second = (svg_text(speed_time_chart(two)) for _ in range(2))
    assert first == second
    assert "<metadata" not in first
    assert "<text" in first, "letters are no paths"


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


def test_only_recorded_spaces_are_scored(tmp_path: Path) -> None:
    problems = [MEASURED, *choose_problems([str(record(tmp_path))])]
    runs = [[trace(2e-3)], [trace(OPTIMUM)]]
    whole = summary_of(problems, {"random": runs, "grid": runs})
    assert whole.on(MEASURED)[0].scores is None
    _, page = assert_files(tmp_path / "out", whole)
    measured = page.partition("## matmul.512")[2]
    assert "\n| random | – | – | 100.0 | – |" in measured
    assert "Runs had a limit of their own" not in page
    assert "only 4 of these 8 runs are done yet" in " ".join(page.split())


def test_the_files_of_a_measured_comparison(two: Summary, tmp_path: Path) -> None:
    data, page = assert_files(tmp_path, two)
    assert {path.name for path in tmp_path.glob("*.svg")} == {
        *("compare-time.svg", "compare-trials.svg", "compare-speed-up.svg"),
        *("compare-time-split.svg", "compare-outcomes.svg", "compare-outcome-times.svg"),
    }
    assert "## matmul.512" in page
    assert "1.00 ms" in page
    assert "score" not in page.partition("## What the figures mean")[2]
    assert data["problems"] == [
        {"problem": "matmul.512", "kind": "measured", "flops": 2.0 * 512**3}
    ]
    assert [row["tuner"] for row in data["tuners"]] == ["genetic", "random"]


def test_the_files_of_recorded_spaces(tmp_path: Path) -> None:
    problems = choose_problems([str(record(tmp_path, name)) for name in ("one", "two")])
    runs = [[trace(2e-3, 1.5e-3, OPTIMUM), trace(INF, 2e-3)]] * 2
    whole = summary_of(problems, {"genetic:population=8": runs, "random": runs})
    data, page = assert_files(tmp_path / "out", whole, command="tunesmith compare '<b>'")
    assert "are done yet" not in page
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


def test_only_options_are_left_out_of_a_table(tmp_path: Path) -> None:
    problems = choose_problems([str(record(tmp_path, "one"))])
    runs = [[trace(2e-3, OPTIMUM)] * 2]
    _, page = assert_files(tmp_path, summary_of(problems, {"auto+estimates": runs, "random": runs}))
    assert "\n| auto+estimates | " in page


def test_a_page_of_tuners_that_found_nothing(tmp_path: Path) -> None:
    assert_files(tmp_path, summary_of([MEASURED], {"grid": [[trace(INF)]], "random": [[]]}))
    page = (tmp_path / "compare.md").read_text()
    assert "the best found: –, –." in page
    none = summary_of([MEASURED], {"grid": [[]]}, [("grid", 0, "gone")])
    assert_files(tmp_path, none)
    assert "| grid | – | – | – | – | – | – | 1 |" in (tmp_path / "compare.md").read_text()


def test_runs_that_are_little_more_than_a_random_start_are_told_of(tmp_path: Path) -> None:
    runs = [[trace(2e-3, OPTIMUM)] * 2]
    summary = summary_of([MEASURED], {"genetic": runs, "random": runs, "nose:population=2": runs})
    _, page = assert_files(tmp_path, summary)
    assert "- genetic: of 2 trials of a run 2 are its random start" in page
    assert "nose:population=2: of 2 trials of a run 2 are its random start" in page
    assert page.count("are its random start") == 2


# -- progress -------------------------------------------------------------------------------------


def test_progress_off_a_terminal() -> None:
    told, now = io.StringIO(), 0.0
    with CompareProgress(Console(file=told), 20, 4, clock=lambda: now) as shown:
        shown.update(4, 0, "")
        for second, done in ((2, 5.0), (5, 8.5), (6, 9.0), (40, 20.0)):
            now = float(second)
            shown.update(done, int(done > 8), "one/gpu, random, repeat 2")
    assert told.getvalue().splitlines() == [
        "run 4 of 20, 0 s, 4 from before",
        "run 8 of 20, 5.0 s, about 13 s left, 4 from before, 1 crashed, one/gpu, random, repeat 2",
        "run 20 of 20, 40 s, 4 from before, 1 crashed, one/gpu, random, repeat 2",
    ]


def test_what_comes_before_the_first_run_is_not_in_the_time_left() -> None:
    told, now = io.StringIO(), 0.0
    with CompareProgress(Console(file=told), 4, 0, clock=lambda: now) as shown:
        for second, done in ((0, 0.0), (100, 0.0), (110, 1.0)):
            now = float(second)
            shown.update(done, 0, "")
    assert told.getvalue().splitlines() == [
        "run 0 of 4, 0 s",
        "run 0 of 4, 1 min 40 s",
        "run 1 of 4, 1 min 50 s, about 30 s left",
    ]
