from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from tests.reports.documents import Element, read
from tests.reports.networks.samples import (
    hostile_network,
    large_network,
    measured_network,
    task,
)
from tunesmith.reports.networks.figures import REST, RUNTIME, make_figures, slices_of
from tunesmith.reports.networks.model import NetworkReport
from tunesmith.reports.networks.page import headline, render


def page_of(report: NetworkReport) -> Element:
    return read(render(report))


def cells(page: Element) -> list[list[str]]:
    """The table of layers, its head first."""
    (table,) = (table for table in page.all("table") if "layers" in table.classes)
    return [
        [cell.text.strip() for cell in row if cell.tag in ("th", "td")] for row in table.all("tr")
    ]


def test_page_has_a_section_for_everything() -> None:
    page = page_of(measured_network())
    assert [h.text for h in page.all("h1")] == ["net.onnx"]
    assert [h.text for h in page.all("h2")] == [
        "Where the time goes: by layer",
        "Where the time goes: by operator",
        "Before and after tuning",
        "A call over tuning",
        "Layer by layer",
        "Without an operator",
        "Commands",
    ]
    header = page.all("header")[0].text
    for text in ("4.00× faster than default schedules, 50.0 µs a call", "AMD EPYC 9R14", "0.27.0"):
        assert text in header
    assert "tunesmith network tune inception.onnx --seconds 8000" in page.text


def test_each_layer_has_a_row_with_its_times() -> None:
    head, first, second, third = cells(page_of(measured_network()))
    assert head[3:5] == ["Inside", "Share"]
    assert first == [
        *("1", "conv2d 0×7×7 → 64×7×7, 3×3, bias", "10.0 µs", "11.0 µs", "20 %", "100.0", "50 %"),
        *("cpu_direct", "tuned", "40.0 µs", "4.00×", "2.00× OpenVINO"),
    ]
    assert second[2:7] == ["30.0 µs", "33.0 µs", "60 %", "100.0", "50 % mem"]
    assert third[:4] == ["3", first[1], "10.0 µs", "13.0 µs"]  # its own call of the same kernel


def test_a_large_network_has_all_its_layers_and_marks_estimates() -> None:
    page = page_of(large_network())
    head, *rows = cells(page)
    assert "Inside" not in head and "Best peer" not in head
    assert [row[0] for row in rows] == [str(number) for number in range(1, 121)]
    assert rows[0][2] == "≈ 10.0 µs" and rows[0][7:] == ["model's pick", "–", "–"]
    assert rows[1][2] == "20.0 µs" and rows[1][7] == "tuned"
    assert "20 tasks have no record" in page.text
    assert "3 operations that no operator covers: reshape, take" in page.text


@pytest.mark.parametrize("make", [large_network, measured_network])
def test_slices_are_the_whole_call(make: Callable[[], NetworkReport]) -> None:
    report = make()
    total = report.seconds if report.call is None else report.call.seconds
    slices = slices_of(report)
    assert sum(part.seconds for part in slices) == pytest.approx(total)
    measured = {REST, RUNTIME} & {part.kind for part in slices}
    assert len(measured) == (0 if report.call is None else 2)


def test_figures_have_a_bar_for_each_layer() -> None:
    by_layer, *_ = make_figures(large_network())
    bars = [at for trace in by_layer.plot.figure.data for at in trace.x]
    assert sorted(bars) == list(range(1, 121))
    assert by_layer.summary == "Of 36.6 ms, 43 % go to the dearest 30 of 120."


def test_a_network_without_gain_has_no_figures_about_it() -> None:
    report = dataclasses.replace(
        large_network(), tasks=[task(0, origin="model")], layers=[0], curve=[]
    )
    assert [figure.name for figure in make_figures(report)] == ["layers", "operators"]
    assert headline(report) == "10.0 µs a call"
    assert len(cells(page_of(report))) == 2


def test_hostile_text_stays_text() -> None:
    page = page_of(hostile_network())
    assert page.count("owned") == 0
    assert page.all("img") == []
    assert len(page.all("script")) == 3
    (first, *_) = cells(page)[1:]
    assert first[1].startswith("brief</script>")
