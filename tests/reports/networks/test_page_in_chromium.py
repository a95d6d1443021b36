"""Opens pages about networks in a real browser, and looks at what it made of them."""

from __future__ import annotations

from pathlib import Path

from tests.reports.chromium import DARK_PAGE, open_page, rgb, styles, widths
from tests.reports.networks.samples import hostile_network, large_network, measured_network
from tunesmith.reports.networks.page import write_network_report
from tunesmith.reports.palette import DARK, LIGHT


def test_a_measured_network_is_drawn(tmp_path: Path) -> None:
    report = measured_network()
    page = open_page(write_network_report(report, tmp_path / "page.html"))
    assert page.find("plot-layers").count("point") == 4
    assert page.find("plot-operators").count("point") == 4
    assert page.find("plot-gains").count("point") == 2 * len(report.tasks)
    assert page.find("plot-tuning").count("js-line") == 1
    texts = page.find("plot-gains").text
    assert "1: conv2d (×2)" in texts and "2: pool2d" in texts
    assert page.find("plot-operators").text.count("%") == 4


def test_a_large_network_on_a_dark_narrow_page_fits(tmp_path: Path) -> None:
    path = write_network_report(large_network(), tmp_path / "page.html")
    page = open_page(path, DARK_PAGE, width=500)
    plot = page.find("plot-layers")
    assert plot.count("point") == 120
    assert rgb(DARK["trial"]) in styles(plot, "fill")
    assert rgb(LIGHT["trial"]) not in styles(plot, "fill")
    assert len(widths(page)) >= 4
    assert max(widths(page)) <= 500


def test_hostile_text_runs_nothing(tmp_path: Path) -> None:
    page = open_page(write_network_report(hostile_network(), tmp_path / "page.html"))
    assert page.count("owned") == 0
    assert page.all("img") == []
    (title,) = (e for e in page.all("head")[0].all("title"))
    assert title.text.startswith(hostile_network().title)
