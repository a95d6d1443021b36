"""What all charts share."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from matplotlib.legend import Legend

from tunesmith.bench.pages.charts import legend_above, new_figure, styled


def legend_of(labels: list[str]) -> tuple[Legend, float]:
    """The legend of a figure of lines with these labels, and the width of the figure in pixels."""
    figure = new_figure(3.0)
    axes = figure.subplots()
    handles = [axes.plot([0, 1], [0, 1])[0] for _ in labels]
    legend_above(figure, handles, labels)
    (legend,) = figure.legends
    return legend, figure.bbox.width


@styled
def columns_of(labels: list[str]) -> int:
    legend, width = legend_of(labels)
    assert [text.get_text() for text in legend.get_texts()] == labels
    assert legend.get_window_extent().width <= width
    return int(legend._ncols)  # type: ignore[attr-defined] # told nowhere else


def test_short_labels_are_in_one_line() -> None:
    assert columns_of(["GBT", "GA", "random"]) in (3, 6)


def test_long_labels_have_as_few_columns_as_fit() -> None:
    names = ["GBT of programs", "TreeGRU of programs", "upper confidence bound"]
    long = [f"{name}, {objective}" for name in names for objective in ("rank", "regression")]
    assert 1 < columns_of(long) < 6


@styled
def test_a_chart_of_nothing_has_a_legend_of_nothing() -> None:
    legend, _ = legend_of([])
    assert legend.get_texts() == []


@styled
def test_a_label_that_fits_nowhere_is_shown_all_the_same() -> None:
    legend, width = legend_of(["x" * 500])
    assert legend.get_window_extent().width > width
    assert len(legend.get_texts()) == 1
