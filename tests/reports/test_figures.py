from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from tests.reports.samples import FLOPS, empty_run, fruitless_run, tuned_run
from tunesmith.reports import RunReport
from tunesmith.reports.figures import Figure, make_figures
from tunesmith.reports.palette import LIGHT

ALL = ["trials", "seconds", "distribution", "phases", "outcomes"]


@pytest.fixture(scope="module")
def report() -> RunReport:
    return tuned_run()


@pytest.fixture(scope="module")
def figures(report: RunReport) -> dict[str, Figure]:
    return {figure.name: figure for figure in make_figures(report)}


def _traces(figure: Figure) -> list[Any]:
    return list(figure.plot.figure.data)


def test_a_run_has_all_figures_and_each_is_explained(figures: dict[str, Figure]) -> None:
    assert list(figures) == ALL
    assert all(figure.title and figure.summary.endswith(".") for figure in figures.values())


def test_a_run_has_no_figure_of_what_it_lacks() -> None:
    assert make_figures(empty_run()) == []
    assert [f.name for f in make_figures(fruitless_run())] == ["trials", "phases", "outcomes"]


def test_every_colour_can_be_darkened(figures: dict[str, Figure]) -> None:
    for figure in figures.values():
        text = figure.plot.figure.to_json()
        colours = set(re.findall(r"#[0-9a-fA-F]{3,8}", text))
        assert colours
        assert colours <= set(LIGHT.values())
        assert set(re.findall(r"rgba?\([^)]*\)", text)) <= {"rgba(0,0,0,0)"}


def test_every_trial_has_a_mark(report: RunReport, figures: dict[str, Figure]) -> None:
    full, short, line, invalid = _traces(figures["trials"])
    assert len(full.x) + len(short.x) == len(report.valid)
    assert len(short.x) == sum(trial.cut_off for trial in report.trials) > 0
    assert sorted([*full.x, *short.x, *invalid.x]) == list(range(1, 501))
    assert set(invalid.y) == {invalid.y[0]}
    assert invalid.y[0] < 0
    assert line.x[-1] == 500


@pytest.mark.parametrize("name", ["trials", "seconds"])
def test_best_line_rises_to_the_best_speed(
    name: str, report: RunReport, figures: dict[str, Figure]
) -> None:
    (line,) = (t for t in _traces(figures[name]) if t.mode == "lines")
    assert report.best is not None
    assert list(line.y) == sorted(line.y)
    assert list(line.x) == sorted(line.x)
    assert line.y[-1] == pytest.approx(FLOPS / report.best.seconds / 1e9)


@pytest.mark.parametrize(
    ("name", "axis"), [("trials", "y"), ("seconds", "y"), ("distribution", "x")]
)
def test_default_and_peers_have_a_line_each(
    name: str, axis: str, figures: dict[str, Figure]
) -> None:
    shapes = figures[name].plot.figure.layout.shapes
    assert [shape[f"{axis}0"] for shape in shapes] == pytest.approx([88.6, 40.1])
    assert len({(shape.line.color, shape.line.dash) for shape in shapes}) == 2
    legend = [key.name for key in figures[name].plot.legend]
    assert legend[-2:] == ["PyTorch, 88.6 GFLOP/s", "default schedule, 40.1 GFLOP/s"]


def test_many_peers_are_told_apart(report: RunReport) -> None:
    peers = {f"peer {i}": 1e-3 * (i + 1) for i in range(8)}
    figure = make_figures(dataclasses.replace(report, peers=peers))[0]
    styles = [(s.line.color, s.line.dash) for s in figure.plot.figure.layout.shapes]
    assert len(set(styles)) == len(styles) == 9


def test_phases_share_the_whole(figures: dict[str, Figure]) -> None:
    traces = _traces(figures["phases"])
    assert sum(trace.x[0] for trace in traces) == pytest.approx(1)
    assert [trace.x[0] for trace in traces] == pytest.approx([0.05, 0.37, 0.55, 0.01, 0.02])
    assert figures["phases"].summary.endswith("55 % went to running programs.")


def test_outcomes_count_all_trials(report: RunReport, figures: dict[str, Figure]) -> None:
    (bars,) = _traces(figures["outcomes"])
    assert sum(bars.x) == len(report.trials)
    assert bars.y[0] == "valid"
    assert "the build took longer than allowed" in [meaning for meaning, _ in bars.customdata]


def test_distribution_is_of_the_valid_trials(report: RunReport, figures: dict[str, Figure]) -> None:
    (histogram,) = _traces(figures["distribution"])
    assert len(histogram.x) == len(report.valid)


@pytest.mark.parametrize(("hours", "title"), [(0.1, "seconds"), (10, "minutes"), (100, "hours")])
def test_time_axis_suits_the_run(hours: float, title: str, report: RunReport) -> None:
    long = dataclasses.replace(report, time={"run": hours * 3600})
    figure = make_figures(long)[1]
    assert figure.plot.figure.layout.xaxis.title.text == f"{title} since the run began"


def test_speeds_without_flops_are_calls_a_second(report: RunReport) -> None:
    figure = make_figures(dataclasses.replace(report, flops=None))[0]
    assert figure.plot.figure.layout.yaxis.title.text == "calls/s"
