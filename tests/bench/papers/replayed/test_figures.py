"""What the runs of a replayed claim come to, of runs made by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench.compare.records import record
from tests.bench.compare.runs import INF, trace
from tests.bench.papers.search_runs import line_of, prose
from tunesmith.bench.compare.problems import RecordedProblem
from tunesmith.bench.compare.runs import Crash, Results, Run
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.tuners import why_not_installed
from tunesmith.bench.papers.replayed.figures import replay_data
from tunesmith.bench.papers.replayed.page import section
from tunesmith.bench.papers.replayed.parts import PARTS, Line, ReplayPart

RECORDED = Path(__file__).parents[4] / "data" / "replay"
LINES = (Line("ours", "nose:population=20", ("theirs",)), Line("theirs", "random"))


@pytest.fixture
def part() -> ReplayPart:
    return ReplayPart("surrogate", "Title", "A claim.", LINES, 2, 3, recorded=("one",))


def figures(
    part: ReplayPart, folder: Path, runs: dict[str, list[Trace]], crash: str = ""
) -> tuple[dict[str, Any], dict[str, str]]:
    """Of runs by line, on one space; they have been through JSON."""
    path = record(folder)
    comparison = part.comparison(folder, folder / "unused")
    results = Results(comparison.problems, comparison.tuners)
    (problem,) = comparison.problems
    assert isinstance(problem, RecordedProblem)
    assert problem.path == path.absolute()
    for tuner in comparison.tuners:
        for repeat, each in enumerate(runs[tuner.label]):
            results.traces[Run(problem, tuner, repeat)] = each
    if crash:
        results.crashes.append(Crash(Run(problem, comparison.tuners[0], 1), crash))
    data, pictures = replay_data(part, comparison, results)
    return json.loads(json.dumps(data)), pictures


def test_pairs_are_of_the_same_seed(part: ReplayPart, tmp_path: Path) -> None:
    data, pictures = figures(
        part,
        tmp_path,
        {
            "ours": [trace(4.0, 2.0, 2.0), trace(4.0, 4.0, 4.0)],
            "theirs": [trace(4.0, 4.0, 4.0), trace(4.0, 4.0, 2.0)],
        },
    )
    (pair,) = data["pairs"]
    assert (pair["line"], pair["other"], pair["at"]) == ("ours", "theirs", None)
    assert pair["times"] == pytest.approx(1.0), "twice as fast, and half as fast"
    assert pair["error"] == pytest.approx(math.log(2.0))
    assert (pair["pairs"], pair["better"], pair["worse"]) == (2, 1, 1)
    assert set(pictures) == set(data["pictures"].values())
    page = section(data)
    assert "The paper: A claim." not in page, "the text is that of the part of this name"
    assert line_of(page, "ours")[4:6] == ["2", "3"]
    assert "2 runs of 3 trials of each line on 1 recorded space" in prose(page)
    assert "boxes" not in data["pictures"]


def test_what_is_found_at_shares_of_the_space(part: ReplayPart, tmp_path: Path) -> None:
    runs = {
        "ours": [trace(4.0, 2.0, 1.0), trace(4.0, 4.0, 2.0)],
        "theirs": [trace(4.0, 4.0, 4.0), trace(4.0, 4.0, 4.0)],
    }
    whole, _ = figures(part, tmp_path, runs)
    (problem,) = whole["problems"]
    share = 2 / problem["configs"]
    data, pictures = figures(replace(part, shares=(share, 4 * share)), tmp_path, runs)
    assert data["moments"] == [share], "runs of 3 trials come to no 8"
    found = {row["line"]: row for row in data["found"]}
    assert {row["trials"] for row in found.values()} == {2}
    best = problem["best_seconds"]
    assert found["ours"]["mean"] == pytest.approx((best / 2.0 + best / 4.0) / 2)
    assert found["ours"]["most"] == pytest.approx(best / 2.0)
    (pair,) = data["pairs"]
    assert pair["times"] == pytest.approx(math.sqrt(2.0)), "one of two is twice as fast by then"
    assert "search-replay-surrogate-boxes.svg" in pictures
    page = prose(section(data))
    assert "of the space, in % of the best on record:" in page
    visited = "trials ÷ configs of the space is the share that was visited: one has 144."
    assert visited in page
    without_charts = prose(section({**data, "pictures": {}}))
    assert "of the space, in % of the best on record:" in without_charts
    assert visited not in without_charts
    assert "these are random search still, as so many random configs come first: ours (20)." in page
    for row in data["lines"]:
        assert row.pop("start") == (20 if row["line"] == "ours" else 0)
    assert "random search still" not in prose(section(data)), "pages of old do not say"


def test_the_version_is_that_of_the_runs(part: ReplayPart, tmp_path: Path) -> None:
    runs = {name: [replace(trace(4.0, 2.0, 2.0), version="1.2+abc")] for name in ("ours", "theirs")}
    data, _ = figures(part, tmp_path, runs)
    assert data["versions"]["tunesmith"] == "1.2+abc"


def test_random_starts_are_told_by_how_many_spaces_they_fill(
    part: ReplayPart, tmp_path: Path
) -> None:
    runs = {name: [trace(4.0, 2.0, 2.0)] for name in ("ours", "theirs")}
    data, _ = figures(part, tmp_path, runs)
    (ours, theirs) = data["found"]
    more = {**ours, "problem": "two", "trials": 30}
    data["problems"].append({**data["problems"][0], "problem": "two"})
    page = prose(section({**data, "found": [{**ours, "trials": 5}, more, theirs]}))
    assert "come first: ours (20, on 1 of 2 spaces)." in page


def test_boxes_are_of_the_runs_of_all_spaces(
    part: ReplayPart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    panels: dict[str, dict[str, Any]] = {}
    monkeypatch.setattr(
        "tunesmith.bench.papers.replayed.figures.box_chart", lambda found, _: panels.update(found)
    )
    two = replace(part, recorded=("one", "two"), repeats=1, trials=8, shares=(8 / 144,))
    record(tmp_path, "one")
    record(tmp_path, "two")
    comparison = two.comparison(tmp_path, tmp_path / "unused")
    results = Results(comparison.problems, comparison.tuners)
    for seconds, run in enumerate(comparison.runs(), start=1):
        results.traces[run] = trace(*[float(seconds)] * 8)
    replay_data(two, comparison, results)
    ((title, found),) = panels.items()
    assert title.endswith("visited")
    assert {line: len(shares) for line, shares in found.items()} == {"ours": 2, "theirs": 2}


def test_runs_that_found_nothing_are_no_pair(part: ReplayPart, tmp_path: Path) -> None:
    data, _ = figures(
        part, tmp_path, {"ours": [trace(INF, INF)], "theirs": [trace(4.0)]}, crash="it broke"
    )
    assert data["pairs"] == []
    page = section(data)
    assert "**Only 2 of 4 runs are done yet.**" in page
    assert "- ours on one: 1 run crashed: it broke" in page


def test_a_part_where_most_configs_fail_has_no_scores(part: ReplayPart, tmp_path: Path) -> None:
    runs = {name: [trace(4.0, 2.0, 2.0), trace(4.0, 4.0, 4.0)] for name in ("ours", "theirs")}
    data, pictures = figures(part, tmp_path / "scored", runs)
    assert any("scores" in name for name in pictures)
    assert "| score |" in section(data)
    for row, (score, error) in zip(data["lines"], ((0.5, 0.123), (0.25, 0.0)), strict=True):
        row["score"], row["score_std"] = score, error
    assert line_of(section(data), "ours")[1] == "0.50 ± 0.12"
    assert line_of(section(data), "theirs")[1] == "0.25 ± 0.00"
    data, pictures = figures(replace(part, scored=False), tmp_path / "not", runs)
    assert not any("scores" in name for name in pictures)
    page = section({**data, "part": "surrogate-template"})
    assert "score" not in page
    assert "| best, % | runs to 95 % |" in page


@pytest.mark.parametrize("name", PARTS)
def test_each_part_can_begin(name: str, tmp_path: Path) -> None:
    part = PARTS[name]
    lines = [line for line in part.lines if why_not_installed(line.tuner) is None]
    comparison = replace(part, lines=lines).comparison(RECORDED, tmp_path)
    assert len(comparison.runs()) == part.repeats * len(lines) * len(part.recorded)
    assert {other for line in part.lines for other in line.beside} <= {
        line.name for line in part.lines
    }


def test_lines_that_were_added_since_are_named(part: ReplayPart, tmp_path: Path) -> None:
    data, _ = figures(part, tmp_path, {"ours": [trace(2.0)], "theirs": [trace(4.0)]})
    own = [line.name for line in PARTS["surrogate"].lines]
    assert f"There is no run yet of: {'; '.join(own)}." in prose(section(data))
    names = dict(zip(("ours", "theirs"), own, strict=False))
    for row in (*data["lines"], *data["found"], *data["pairs"]):
        row["line"] = names[row["line"]]
    assert f"There is no run yet of: {'; '.join(own[2:])}." in prose(section(data))
