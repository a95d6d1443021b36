"""Opens reports in a real browser that has no network, and looks at what it made of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable

import pytest

from tests.patience import PATIENCE
from tests.reports.documents import Element, read
from tests.reports.samples import fruitless_run, hostile_run, tuned_run
from tunesmith.progress import PHASES
from tunesmith.reports import RunReport, write_report
from tunesmith.reports.palette import DARK, LIGHT

NAMES = ("chromium", "chromium-browser", "google-chrome")
DARK_PAGE = "--blink-settings=preferredColorScheme=0"

Open = Callable[..., Element]


@pytest.fixture(scope="module")
def open_page(tmp_path_factory: pytest.TempPathFactory) -> Open:
    """Writes and opens a report; gives the page after its scripts ran, which must be silent."""
    binary = next(filter(None, map(shutil.which, NAMES)), None)
    if binary is None:
        pytest.skip(f"needs a browser: none of {', '.join(NAMES)} is installed")

    def open_report(report: RunReport, *options: str, width: int = 1400) -> Element:
        folder = tmp_path_factory.mktemp("chromium")
        path = write_report(report, folder / "report.html")
        command = [
            binary,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={width},2000",
            "--enable-logging=stderr",
            "--virtual-time-budget=20000",
            *options,
            "--dump-dom",
            path.as_uri(),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
        assert re.findall(r"CONSOLE.*", done.stderr) == []
        page = read(done.stdout)
        assert page.all("body")[0].attributes["data-figures"] == "drawn"
        return page

    return open_report


@pytest.fixture(scope="module")
def report() -> RunReport:
    return tuned_run()


@pytest.fixture(scope="module")
def page(open_page: Open, report: RunReport) -> Element:
    return open_page(report)


def _style(element: Element, name: str) -> set[str]:
    """The values of a CSS property on all elements below."""
    found = (re.search(rf"\b{name}: ([^;]+)", e.attributes.get("style", "")) for e in element)
    return {match[1] for match in found if match}


def _rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


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
    assert _style(plot, "fill") >= {_rgb(LIGHT[phase]) for phase in ("search", "build", "run")}


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


def test_a_dark_narrow_page_has_dark_figures_that_fit(open_page: Open, report: RunReport) -> None:
    page = open_page(report, DARK_PAGE, width=500)
    plot = page.find("plot-trials")
    assert _rgb(DARK["best"]) in _style(plot, "stroke")
    assert _rgb(LIGHT["best"]) not in _style(plot, "stroke")
    widths = [
        float(svg.attributes["width"]) for svg in page.all("svg") if "main-svg" in svg.classes
    ]
    assert len(widths) >= 5
    assert max(widths) <= 500


def test_hostile_text_runs_nothing(open_page: Open) -> None:
    report = hostile_run()
    page = open_page(report)
    assert page.count("owned") == 0
    assert page.all("img") == []
    (title,) = (e for e in page.all("head")[0].all("title"))
    assert title.text.startswith(report.title)


def test_a_run_without_valid_trials_is_drawn(open_page: Open) -> None:
    page = open_page(fruitless_run())
    assert page.find("plot-trials").count("point") == 12
    assert page.find("plot-outcomes").count("point") == 1
