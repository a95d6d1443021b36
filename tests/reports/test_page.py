from __future__ import annotations

import base64
import dataclasses
import hashlib
import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reports.documents import Element, read
from tests.reports.samples import PROGRAM, attack, empty_run, fruitless_run, hostile_run, tuned_run
from tunesmith.errors import TunesmithError
from tunesmith.measurement import DeviceState
from tunesmith.reports import MeasuredConfig, RunReport, SketchShare, render, write_report
from tunesmith.reports.page import headline

FETCHING = {"src", "href", "srcset", "action", "data", "poster", "background", "formaction"}


@pytest.fixture(scope="module")
def report() -> RunReport:
    return tuned_run()


@pytest.fixture(scope="module")
def text(report: RunReport) -> str:
    return render(report)


@pytest.fixture(scope="module")
def page(text: str) -> Element:
    return read(text)


def test_page_has_a_section_for_everything(page: Element) -> None:
    assert [h.text for h in page.all("h1")] == [
        "conv2d of 1×64×56×56 with 64 filters of 3×3, float32"
    ]
    assert [h.text for h in page.all("h2")] == [
        "Results",
        "Best speed over trials",
        "Best speed over time",
        "Distribution of speeds",
        "Time by phase",
        "Outcomes by class",
        "What the outcomes mean",
        "The best config",
        "The best program",
        "Repeat this run",
    ]
    assert "2.86× faster than the default schedule, 115 GFLOP/s" in page.all("header")[0].text


@pytest.mark.parametrize("make", [tuned_run, hostile_run, empty_run, fruitless_run])
def test_page_fetches_nothing(make: Callable[[], RunReport]) -> None:
    page = read(render(make()))
    assert not [e.tag for e in page if FETCHING & set(e.attributes)]
    (style,) = page.all("style")
    assert "url(" not in style.text
    assert "@import" not in style.text


def test_policy_allows_the_page_its_own_scripts_and_no_more(page: Element) -> None:
    (policy,) = (
        meta.attributes["content"]
        for meta in page.all("meta")
        if meta.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    (script,) = (s for s in page.all("script") if "type" not in s.attributes)
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    assert rules["default-src"] == "'none'"
    assert f"'sha256-{digest}'" in rules["script-src"].split()
    assert "unsafe" not in rules["script-src"]


def test_ids_are_unique_and_labels_point_somewhere(page: Element) -> None:
    ids = [e.attributes["id"] for e in page if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    assert {e.attributes["aria-labelledby"] for e in page if "aria-labelledby" in e.attributes} <= (
        set(ids)
    )


def test_file_is_small_enough_to_mail(text: str) -> None:
    assert len(text.encode()) < 2_500_000


def test_page_is_the_same_each_time(report: RunReport, text: str) -> None:
    assert render(report) == text


def test_results_are_compared(page: Element) -> None:
    (table,) = (t for t in page.all("table") if "results" in t.classes)
    rows = [[cell.text for cell in row if cell.tag in ("th", "td")] for row in table.all("tr")]
    assert rows == [
        ["Program", "Time a call", "GFLOP/s", "Speed-up"],
        ["best found", "2.01 ms", "115", "2.86×"],
        ["PyTorch", "2.61 ms", "88.6", "2.21×"],
        ["default schedule", "5.77 ms", "40.1", "1.00×"],
    ]


def test_differing_values_are_marked(page: Element) -> None:
    (table,) = (t for t in page.all("table") if "config" in t.classes)
    marked = [row.all("th")[0].text for row in table.all("tr") if "differs" in row.classes]
    assert marked == ["tile_co", "tile_h", "tile_w", "order", "unroll"]
    assert table.text.count("≠") == len(marked)


def test_configs_of_different_sketches_stand_side_by_side(report: RunReport) -> None:
    other = dataclasses.replace(report, default=MeasuredConfig(1.0, {"unroll": 64, "threads": 4}))
    (table,) = (t for t in read(render(other)).all("table") if "config" in t.classes)
    rows = {row.all("th")[0].text: [td.text for td in row.all("td")] for row in table.all("tr")[1:]}
    assert rows["unroll"] == ["64", "64"]
    assert rows["threads"] == ["– ≠", "4"]


def test_program_is_shown_whole(page: Element) -> None:
    (program,) = (e for e in page.all("pre") if "program" in e.classes)
    assert program.text == PROGRAM.rstrip("\n")
    assert program.count("k") > 0


def test_hostile_text_is_shown_as_text() -> None:
    report = hostile_run()
    page = read(render(report))
    assert page.count("owned") == 0
    assert page.all("img") == []
    assert len(page.all("script")) == 3
    shown = page.text
    places = ["task", "title", "target", "machine", "tuner", "budget", "stopped", "default_name"]
    for place in [*places, "program", "command", "parameter", "value", "peer", "software"]:
        assert attack(place) in shown, place


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({}, "2.86× faster than the default schedule, 115 GFLOP/s"),
        ({"default": None}, "115 GFLOP/s, 2.01 ms a call"),
        ({"flops": None}, "2.86× faster than the default schedule, 497 calls/s"),
        ({"best": None}, "No valid program in 500 trials"),
        ({"best": None, "trials": ()}, "No trial was measured"),
        ({"best": MeasuredConfig(0.1, {})}, "17.3× slower than the default schedule, 2.31 GFLOP/s"),
    ],
)
def test_headline(change: dict[str, object], line: str, report: RunReport) -> None:
    assert headline(dataclasses.replace(report, **change)) == line  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [empty_run, fruitless_run])
def test_a_run_that_found_nothing_is_a_page_too(make: Callable[[], RunReport]) -> None:
    page = read(render(make()))
    titles = {h.text for h in page.all("h2")}
    assert titles.isdisjoint({"Results", "The best config", "The best program", "Repeat this run"})
    assert re.search("No (valid program|trial)", page.all("header")[0].text)


def test_write_replaces_the_file_and_leaves_nothing_else(
    report: RunReport, text: str, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    assert write_report(report, str(path)) == path
    assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_missing_is_made(report: RunReport, tmp_path: Path) -> None:
    path = write_report(report, tmp_path / "a" / "new folder" / "report.html")
    assert path.is_file()


@pytest.mark.parametrize("place", ["folder", "file/report.html"])
def test_a_place_that_cannot_be_written_is_one_clear_line(
    place: str, report: RunReport, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(TunesmithError, match=r"cannot write the report to .*: name a file") as info:
        write_report(report, tmp_path / place)
    assert "\n" not in str(info.value)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]


def test_what_each_sketch_had_is_told_where_there_was_a_choice(report: RunReport) -> None:
    shares = [SketchShare("cpu_gemm", 1200, 2e-3), SketchShare("cpu_tiled", 300, None)]
    best = MeasuredConfig(1e-3, {"tile": (4, 2)}, "cpu_gemm")
    shown = read(render(dataclasses.replace(report, sketches=shares, best=best)))
    assert "Sketches" in [h.text for h in shown.all("h2")]
    (row,) = (tr.text for tr in shown.all("tr") if tr.text.startswith("cpu_gemm"))
    assert "1,200" in row
    assert "80 %" in row
    assert any(tr.text.startswith("sketch") and "cpu_gemm" in tr.text for tr in shown.all("tr"))
    alone = read(render(dataclasses.replace(report, sketches=shares[:1])))
    assert "Sketches" not in [h.text for h in alone.all("h2")]


def test_a_gpu_is_told_with_its_clocks_and_idle_share(report: RunReport, text: str) -> None:
    states = [DeviceState(sm_mhz=1755, celsius=41), DeviceState(sm_mhz=1980, celsius=41), None]
    trials = [
        dataclasses.replace(trial, device_state=state)
        for trial, state in zip(report.trials, itertools.cycle(states), strict=False)
    ]
    time = {"search": 1.0, "build": 2.0, "run": 6.0, "record": 0.5, "idle": 0.5}
    page = render(dataclasses.replace(report, trials=trials, gpu="Some GPU", time=time))
    assert "Some GPU, 1,755–1,980 MHz, 41 °C" in page
    assert "The GPU was idle for 40 % of it." in page
    assert "The GPU was idle" not in text
