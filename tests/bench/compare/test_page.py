"""Pages, figures and data of comparisons."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.bench.compare.records import OPTIMUM, record
from tests.bench.compare.runs import INF, MEASURED, summary_of, trace, two_tuners
from tunesmith.bench.compare.compare import CompareSettings
from tunesmith.bench.compare.files import write_comparison
from tunesmith.bench.compare.plot import Pen, linear, pens, powers
from tunesmith.bench.compare.problems import choose_problems
from tunesmith.bench.compare.progress import CompareProgress
from tunesmith.bench.compare.summary import Summary
from tunesmith.bench.compare.tables import headline, problem_table

SETTINGS = CompareSettings(repeats=2)


@pytest.fixture
def two() -> Summary:
    return two_tuners()


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


def test_only_recorded_spaces_are_scored(tmp_path: Path) -> None:
    problems = [MEASURED, *choose_problems([str(record(tmp_path))])]
    runs = [[trace(2e-3)], [trace(OPTIMUM)]]
    whole = summary_of(problems, {"random": runs, "grid": runs})
    assert headline(whole).endswith(" over 1 space")
    assert whole.on(MEASURED)[0].scores is None
    table = problem_table(whole, MEASURED)
    assert table.rows[0][1:3] == ["–", "–"]
    _, page = assert_files(tmp_path / "out", whole)
    assert "Runs had a limit of their own" not in page


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


def test_a_page_of_tuners_that_found_nothing(tmp_path: Path) -> None:
    assert_files(tmp_path, summary_of([MEASURED], {"grid": [[trace(INF)]], "random": [[]]}))
    page = (tmp_path / "compare.md").read_text()
    assert "the best found: –, –." in page
    none = summary_of([MEASURED], {"grid": [[]]}, [("grid", 0, "gone")])
    assert_files(tmp_path, none)
    assert headline(none) == "No run has ended yet"


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
