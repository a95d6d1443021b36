"""The page, the table and the live lines of evolved programs."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from tests.reports.chromium import DARK_PAGE, open_page, rgb, styles, widths
from tests.reports.documents import read
from tests.reports.evolve.samples import evolved, hostile, nothing_found
from tunesmith.reports.evolve.live import EvolveProgress, front_line
from tunesmith.reports.evolve.model import Step
from tunesmith.reports.evolve.page import headline, render, write_evolve_report
from tunesmith.reports.evolve.tables import front_table
from tunesmith.reports.palette import DARK


def test_the_page_has_all_programs_with_their_edits() -> None:
    page = read(render(evolved()))
    assert [h.text for h in page.all("h2")] == [
        "The front",
        "The fastest over time",
        "How programs ended",
        "Program 1: 3.20×, error 0.009",
        "Program 2: 2.00×, error 1.5e-06",
        "Program 3: 1.25×, error 0",
        "Commands",
    ]
    assert len(page.all("li")) > 5
    assert "3 edits that matter:" in page.text
    assert "1 edit that matters:" in page.text
    assert "+  %v1 = fmul float %v0, %v0" in page.text
    assert "Held out: 2.88×, error 0.018." in page.text


def test_a_headline_says_what_was_found() -> None:
    assert headline(evolved()) == "3.20× faster than the original, with an error of 0.009"
    assert headline(nothing_found()) == "nothing faster than the original was found"
    page = read(render(nothing_found()))
    assert "Programs with the same output" in page.text


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    path = write_evolve_report(hostile(), tmp_path / "page.html")
    assert read(path.read_text()).count("owned") == 0
    page = open_page(path)
    assert page.count("owned") == 0
    assert page.all("img") == []


def test_it_is_drawn_in_a_browser(tmp_path: Path) -> None:
    page = open_page(write_evolve_report(evolved(), tmp_path / "page.html"))
    assert page.find("plot-front").count("point") == 3 + 3 + 1
    assert page.find("plot-history").count("point") == 11
    assert page.find("plot-outcomes").count("point") == 4


def test_it_fits_a_dark_narrow_page(tmp_path: Path) -> None:
    path = write_evolve_report(evolved(), tmp_path / "page.html")
    page = open_page(path, DARK_PAGE, width=500)
    assert rgb(DARK["best"]) in styles(page.find("plot-history"), "stroke")
    assert max(widths(page)) <= 500


def test_the_table_fits_a_hundred_columns() -> None:
    out = io.StringIO()
    Console(file=out, width=100).print(front_table(evolved().programs))
    head, first, *_ = out.getvalue().splitlines()
    assert len(head) <= 100
    assert first.split() == ["1", "3.20×", "0.009", "2.88×", "0.018", "3"]


@pytest.mark.parametrize(
    ("front", "line"),
    [
        ([], "nothing faster yet"),
        ([(2.0, 0.0)], "2.00× (error 0)"),
        (
            [(6.0 - n, 0.001) for n in range(5)],
            "6.00× (error 0.001), 5.00× (error 0.001), 4.00× (error 0.001), 3.00× (error 0.001) "
            "and 1 more",
        ),
    ],
)
def test_a_front_is_a_line(front: list[tuple[float, float]], line: str) -> None:
    assert front_line(front) == line


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_is_shown(terminal: bool) -> None:
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=terminal, force_interactive=terminal)
    with EvolveProgress(console, 60.0, None) as live:
        live.show(Step(3, 30.0, 1234, 0.5, [(1.5, 0.01)]))
    assert "generation 3, 1,234 evaluations (50 % valid), 30 s of 1 min 00 s" in out.getvalue()
    assert "front: 1.50× (error 0.01)" in out.getvalue()


def test_what_comes_after_the_search_is_shown() -> None:
    out = io.StringIO()
    with EvolveProgress(Console(file=out, width=100), None, 100) as live:
        live.show(Step(3, 30.0, 100, 0.5, [], "looking closer at program 1 of 2"))
    assert out.getvalue().splitlines()[1:] == [
        "  front: nothing faster yet",
        "  looking closer at program 1 of 2",
    ]
