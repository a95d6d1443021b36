"""Opens reports in a real browser that has no network, and looks at what it made of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.reports.chromium import DARK_PAGE, open_page, rgb, styles, widths
from tests.reports.documents import Element
from tests.reports.samples import fruitless_run, hostile_run, tuned_run
from tunesmith.progress import PHASES
from tunesmith.reports import RunReport, write_report
from tunesmith.reports.palette import DARK, LIGHT

Open = Callable[..., Element]


@pytest.fixture(scope="module")
def open_report(tmp_path_factory: pytest.TempPathFactory) -> Open:
    """Writes and opens a report; gives the page after its scripts ran, which must be silent."""

    def opened(report: RunReport, *options: str, width: int = 1400) -> Element:
        path = tmp_path_factory.mktemp("chromium") / "report.html"
        return open_page(write_report(report, path), *options, width=width)

    return opened


@pytest.fixture(scope="module")
def report() -> RunReport:
    return tuned_run()


@pytest.fixture(scope="module")
def page(open_report: Open, report: RunReport) -> Element:
    return open_report(report)


def test_trials_are_drawn_each_with_a_mark(page: Element, report: RunReport) -> None:
    plot = page.find("plot-trials")
    assert plot.count("point") == len(report.trials)
    assert plot.count("js-line") == 1
    assert plot.count("shape-group") == 2


def test_speed_over_time_is_drawn(page: Element, report: RunReport) -> None:
    plot = page.find("plot-seconds")
    assert plot.count("point") == len(report.improvements)
    assert plot.count("js-line") == 1


def test_phases_are_drawn_and_named(page: Element) -> None:
    plot = page.find("plot-phases")
    assert plot.count("point") == len(PHASES)
    assert "run" in plot.text
    assert "55 %" in plot.text
    assert styles(plot, "fill") >= {rgb(LIGHT[phase]) for phase in ("search", "build", "run")}


def test_outcomes_are_drawn_and_named(page: Element, report: RunReport) -> None:
    plot = page.find("plot-outcomes")
    assert plot.count("point") == len(report.outcomes)
    for text in ("valid", "instantiation error", "build timeout", str(len(report.valid))):
        assert text in plot.text


def test_distribution_is_drawn(page: Element) -> None:
    assert page.find("plot-distribution").count("point") > 10


def test_axes_are_labelled_with_units(page: Element) -> None:
    for name, titles in {
        "trials": ("trial", "GFLOP/s"),
        "seconds": ("seconds since the run began", "GFLOP/s"),
        "distribution": ("GFLOP/s", "trials"),
    }.items():
        labels = {
            e.text for e in page.find(f"plot-{name}") if {"xtitle", "ytitle"} & set(e.classes)
        }
        assert labels == set(titles)


def test_a_dark_narrow_page_has_dark_figures_that_fit(open_report: Open, report: RunReport) -> None:
    page = open_report(report, DARK_PAGE, width=500)
    plot = page.find("plot-trials")
    assert rgb(DARK["best"]) in styles(plot, "stroke")
    assert rgb(LIGHT["best"]) not in styles(plot, "stroke")
    assert len(widths(page)) >= 5
    assert max(widths(page)) <= 500


def test_hostile_text_runs_nothing(open_report: Open) -> None:
    report = hostile_run()
    page = open_report(report)
    assert page.count("owned") == 0
    assert page.all("img") == []
    (title,) = (e for e in page.all("head")[0].all("title"))
    assert title.text.startswith(report.title)


def test_a_run_without_valid_trials_is_drawn(open_report: Open) -> None:
    page = open_report(fruitless_run())
    assert page.find("plot-trials").count("point") == 12
    assert page.find("plot-outcomes").count("point") == 1
