"""The page, the figures that sum it up, the pictures and the files of ``bench operators``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.charts import bars, dots, points, texts
from tests.bench.loop.test_loop import rows as table_of
from tests.bench.operators.rows import ORIGIN, metaschedule, origin, row, speed
from tunesmith.bench.operators.chart import ratio_chart, start_chart
from tunesmith.bench.operators.files import OperatorFigures, read_operators, write_operators
from tunesmith.bench.operators.page import operators_page
from tunesmith.bench.operators.summary import Figure, summary
from tunesmith.bench.operators.workloads import (
    BATCHED,
    DENSE,
    DEPTHWISE,
    FUSED,
    OPEVO,
    POINTWISE,
    RESNET,
    SQUARE,
    operator_workloads,
)
from tunesmith.bench.pages import charts
from tunesmith.bench.pages.charts import svg_text
from tunesmith.bench.pages.curves import share_at
from tunesmith.bench.pages.provenance import together
from tunesmith.bench.pages.ratio_chart import LEAST, MOST
from tunesmith.errors import TunesmithError

ROWS = [
    row(
        "resnet18.C3",
        {"pytorch": 3.0, "onednn": 2.0, "onednn-blocked": 1.75, "onnxruntime": 1.25, "numpy": 14.5},
        metaschedule=metaschedule(1.5),
    ),
    row("resnet18.C3" + FUSED, {"onnxruntime": 0.875}),
    row("matmul.512", {"pytorch": 0.9}, **speed(2e-4, disturbed=True)),
    row("opevo.BMM.TN", {}, metaschedule={"missing": "MetaSchedule found nothing valid"}),
]
EVERYTHING = [
    row(name, {"pytorch": 2.5, "onednn": 2.25, "onnxruntime": 2.0}, metaschedule=metaschedule(2.0))
    for name in operator_workloads()
]

# Of the files with figures for this machine's processor.
NAME = OperatorFigures().name


def page_of(rows: list[dict[str, Any]]) -> str:
    return operators_page({**together([ORIGIN]), "rows": rows}, ["one.svg", "two.svg"])


# --- The figures that sum up


def by_name(figures: list[Figure]) -> dict[str, Figure]:
    return {figure.name: figure for figure in reversed(figures)}


def test_all_figures_are_reached_by_rows_that_are_good_enough() -> None:
    figures = summary(EVERYTHING)
    wanted = [figure for figure in figures if figure.wanted is not None]
    assert len(wanted) == 15
    assert all(figure.undisturbed in (figure.have, None) for figure in figures)
    assert all(figure.reached for figure in wanted)
    assert [figure.of for figure in figures[:6]] == [12, 12, 12, 12, 12, 12]
    known = by_name(figures)
    assert known["ResNet-18 C1–C12 against the best peer"].value == pytest.approx(2.0)
    assert known["C1–C12 against oneDNN, also with its own data"].value == pytest.approx(2.25)
    assert known["batch matmuls against torch.bmm"].value == pytest.approx(2.5)
    assert known["OpEvo's matmuls against the best peer"].value == pytest.approx(2.0)
    assert known["trials a second against MetaSchedule's"].value == pytest.approx(20.0)
    assert known["C1–C12 and matmuls against MetaSchedule's kernels"].of == 15


def test_figures_of_a_part_are_not_reached() -> None:
    (first, least, *_) = summary(ROWS)
    assert (first.value, first.have, first.of, first.reached) == (1.25, 1, 12, False)
    assert least.value == 1.25
    assert by_name(summary(ROWS))["C1–C12 against oneDNN, also with its own data"].value == 1.75
    assert all(figure.value is None and not figure.reached for figure in summary([]))


def test_it_is_told_how_many_rows_of_a_figure_are_undisturbed() -> None:
    mine = row("matmul.512", {"pytorch": 2.0}, **speed(1e-4, disturbed=True))
    theirs = row("matmul.1024", {"pytorch": 2.0, "numpy": 4.0})
    theirs["peers"]["numpy"]["disturbed"] = True
    known = by_name(summary([mine, theirs, row("matmul.2048", {"pytorch": 2.0})]))
    against_mkl = known["matmul 512–2048 against PyTorch (MKL)"]
    assert (against_mkl.undisturbed, against_mkl.have) == (1, 3)
    calm = row("matmul.512", {}, metaschedule=metaschedule(2.0))
    slowed = row("matmul.1024", {}, metaschedule=metaschedule(2.0, second_alone=1e-4))
    known = by_name(summary([calm, slowed]))
    kernels = known["C1–C12 and matmuls against MetaSchedule's kernels"]
    assert (kernels.undisturbed, kernels.have) == (1, 2)
    assert known["trials a second against MetaSchedule's"].undisturbed is None


def test_fused_layers_have_a_least_one_too() -> None:
    ratios = {"resnet18.C3+bias+relu": 0.875, "resnet18.C4+bias+relu": 2.0}
    figures = summary([row(name, {"numpy": ratio}) for name, ratio in ratios.items()])
    place = [figure.name for figure in figures].index(
        "C1–C12 with bias and ReLU against the best peer"
    )
    least = figures[place + 1]
    assert (least.name, least.value, least.wanted) == ("the least of these", 0.875, 1.0)
    assert not least.reached


def test_matmuls_are_compared_with_mkl_and_with_the_best_peer() -> None:
    table = table_of(page_of([row(name, {"pytorch": 2.0, "onnxruntime": 1.0}) for name in SQUARE]))
    assert table["matmul 512–2048 against PyTorch (MKL)"][:3] == ["2.00", "1 or more", "yes"]
    assert table["matmul 512–2048 against the best peer"][0] == "1.00"


def test_the_figures_are_of_workloads_that_exist() -> None:
    named = {*RESNET, *SQUARE, *OPEVO, *BATCHED, *DENSE, *DEPTHWISE, *POINTWISE}
    assert named <= set(operator_workloads(fused=False))


# --- The page


def test_the_page() -> None:
    page = page_of(ROWS)
    assert page.startswith("# Operators against other libraries\n")
    assert "- machine: Some CPU, 2 cores, 8 GiB" in page
    assert "- versions: python 3.11.7, tunesmith 0.1.0, torch 2.13.0" in page
    assert "![How many times as fast as each peer, by workload](one.svg)" in page
    assert page.count("## Figures") == 1
    table = table_of(page)
    assert table["ResNet-18 C1–C12 against the best peer"] == [
        "1.25 (1 of 12)",
        "1.5 or more",
        "",
        "1 of 1",
    ]
    assert table["batch matmuls against torch.bmm"] == ["–", "1.3 or more"]
    good = table_of(page_of(EVERYTHING))
    assert good["batch matmuls against torch.bmm"] == ["2.50", "1.3 or more", "yes", "3 of 3"]
    slow = table_of(page_of([row(name, {"pytorch": 0.5}) for name in BATCHED]))
    assert slow["batch matmuls against torch.bmm"] == ["0.50", "1.3 or more", "no", "3 of 3"]
    plain, fused = page.split("## With bias and ReLU")
    assert (
        "| resnet18.C3 | 100 | 1.25 | 1.19–1.31 | 3.00 | 2.00 | 1.75 | – | **1.25** | – | 14 |"
        in plain
    )
    assert "| resnet18.C3 | 100 | 0.88 | 0.83–0.92 | – | – | – | – | **0.88** | – | – |" in fused
    assert "| matmul.512 ! | 50 | 0.90 |" in plain, "a side of it was disturbed"
    assert "| opevo.BMM.TN | 100 | – |  | – | – | – | – | – | – | – |" in plain
    assert "| resnet18.C3 | 1.50 | 1.35–1.65 | 3 | 64 | 0.50 | 10.0 | 20 |" in page
    assert "| opevo.BMM.TN | MetaSchedule found nothing valid |" in page
    assert "| resnet18.C3 | cpu_tiled | 400 | 98 % | 1 min 00 s | 75 % |" in page
    assert "- torch.compile: not installed: x (4 workloads)" not in page
    assert "- torch.compile: not installed: x (resnet18.C3, resnet18.C3+bias+relu," in page


def test_a_page_of_few_rounds_says_so() -> None:
    few = row("matmul.512", {"pytorch": 2.0}, origin=origin(settings={"pairs": 24}))
    page = page_of([*ROWS, few]).replace("\n", " ")
    assert "**These figures are a trial only: 1 of 5 rows had fewer than 25 rounds.**" in page
    assert "a trial only" not in page_of(ROWS)


@pytest.mark.parametrize("rows", [ROWS, EVERYTHING, []], ids=["some", "all", "none"])
def test_the_page_fits_100_columns(rows: list[dict[str, Any]]) -> None:
    assert max(map(len, page_of(rows).splitlines())) <= 100


def test_without_metaschedule_there_is_no_table_of_it() -> None:
    assert "## TVM's MetaSchedule" not in page_of(ROWS[1:3])


# --- The pictures


def test_the_chart_of_ratios() -> None:
    figure = ratio_chart(ROWS)
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        each["workload"] for each in ROWS
    ]
    assert {"ONNX Runtime", "matmul.512", "1", "2", "12"} <= texts(figure)
    drawn = [number for left, middle, width, _ in bars(axes) for number in (middle, left, width)]
    assert drawn == pytest.approx([0, 1.0, 0.25, 1, 1.0, -0.125, 2, 1.0, -0.1])
    places = dots(axes)
    assert places == [
        *((0.875, 1.0), (0.9, 2.0), (1.25, 0.0), (1.75, 0.0), (2.0, 0.0), (3.0, 0.0), (14.5, 0.0))
    ], "a dot for each peer"


def test_ratios_beyond_the_chart_are_at_its_edge() -> None:
    figure = ratio_chart([row("matmul.512", {"pytorch": 99.0, "numpy": 0.1})])
    (axes,) = figure.axes
    assert axes.get_xlim() == (LEAST, MOST)
    assert {"≤ 0.4", "≥ 16"} <= texts(figure)
    assert dots(axes) == [(LEAST, 0.0), (MOST, 0.0)]
    assert svg_text(ratio_chart([])).startswith("<svg")


def test_the_chart_of_starts() -> None:
    figure = start_chart(ROWS)
    lines = figure.axes[0].lines[2:]
    assert len(lines) == len(ROWS) + 1, "a line each, and the median"
    for line in lines:
        assert points(line) == [(1, 0), (1, 0.25), (10, 0.75), (200, 1.0), (400, 1.0)]
    assert {"20", "200", "80%"} <= texts(figure)
    assert start_chart([]).axes


def test_a_page_without_matplotlib_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "can_draw", lambda: False)
    _, page = write_operators(tmp_path, ROWS)
    assert {path.name for path in tmp_path.iterdir()} == {f"{NAME}.json", f"{NAME}.md"}
    assert "**Without charts:** matplotlib is not installed" in page
    assert "](" not in page


def test_what_a_curve_had_reached() -> None:
    steps = [(2, 0.25), (10, 1.0)]
    assert [share_at(steps, trial) for trial in (1, 2, 9, 10, 99)] == [0.0, 0.25, 0.25, 1.0, 1.0]


# --- The files


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    assert read_operators(tmp_path) == {}
    figures, page = write_operators(tmp_path, reversed(ROWS))
    assert [each["workload"] for each in figures["rows"]] == [each["workload"] for each in ROWS]
    assert json.loads((tmp_path / f"{NAME}.json").read_text()) == json.loads(json.dumps(figures))
    assert (tmp_path / f"{NAME}.md").read_text() == page
    for name in (f"{NAME}-ratios.svg", f"{NAME}-starts.svg"):
        assert f"({name})" in page
        assert (tmp_path / name).read_text().startswith("<svg")
    assert list(read_operators(tmp_path)) == [each["workload"] for each in ROWS]
    assert len(list(tmp_path.iterdir())) == 4, "nothing of the writing is left"
    assert "](starts.md)" not in page
    (tmp_path / "starts.md").touch()
    assert "](starts.md)" in write_operators(tmp_path, ROWS)[1]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"rows": [1]}', '{"rows": [{}]}', '{"rows": [{"workload": "x"}]}']
)
def test_a_file_that_holds_no_rows(tmp_path: Path, text: str) -> None:
    (tmp_path / f"{NAME}.json").write_text(text)
    with pytest.raises(TunesmithError, match="holds no rows of an earlier run: remove it"):
        read_operators(tmp_path)


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(TunesmithError, match=r"cannot write .*: no such file"):
        write_operators(tmp_path / "gone", ROWS)


def test_each_row_says_where_it_comes_from_and_the_page_what_there_is(tmp_path: Path) -> None:
    later = origin(
        date="2026-02-03",
        versions={"python": "3.11.7", "tunesmith": "0.2.0"},
        settings={"pairs": 30, "seconds": 20.0},
    )
    made = [ROWS[0], row("matmul.512", {"pytorch": 2.0}, origin=later)]
    figures, page = write_operators(tmp_path, made)
    assert [each["origin"] for each in figures["rows"]] == [later, ORIGIN][::-1]
    assert "- date: 2026-01-02 to 2026-02-03" in page
    assert "tunesmith 0.1.0 or 0.2.0, torch 2.13.0 or none" in page
    assert "In each of 25 to 30 rounds every side runs once, for 25 ms" in page.replace("\n", " ")
    assert "- tuning by the last run of a workload: 20 to 40 s" in page
    # MetaSchedule may be compared on another day than the libraries.
    rival = metaschedule(2.0, origin=origin(date="2026-03-04"))
    page = write_operators(tmp_path, [{**ROWS[0], "metaschedule": rival}])[1]
    assert "- date: 2026-01-02 to 2026-03-04" in page
    assert "- machine: " in write_operators(tmp_path, [])[1]


def test_rows_of_another_machine_are_refused_unless_they_are_measured_anew(tmp_path: Path) -> None:
    elsewhere = origin(machine={**ORIGIN["machine"], "fingerprint": "0" * 16})
    rows = [*ROWS[:1], row("matmul.512", {"pytorch": 2.0}, origin=elsewhere)]
    write_operators(tmp_path, rows)
    message = (
        rf"{NAME}.json holds rows of another machine \(Some CPU\): name another folder with "
        r"--output, or measure all of its workloads anew \(--fresh without --workload\)$"
    )
    with pytest.raises(TunesmithError, match=message):
        read_operators(tmp_path)
    with pytest.raises(TunesmithError, match="another machine"):
        read_operators(tmp_path, redone=["resnet18.C3"])
    assert list(read_operators(tmp_path, redone=["matmul.512"])) == ["resnet18.C3"]
    rival = row("matmul.512", {}, metaschedule=metaschedule(2.0, origin=elsewhere))
    write_operators(tmp_path, [rival])
    with pytest.raises(TunesmithError, match="another machine"):
        read_operators(tmp_path)


def test_rows_that_do_not_say_where_they_come_from_are_refused(tmp_path: Path) -> None:
    write_operators(tmp_path, ROWS)
    path = tmp_path / f"{NAME}.json"
    figures = json.loads(path.read_text())
    del figures["rows"][0]["origin"]
    path.write_text(json.dumps(figures))
    with pytest.raises(TunesmithError, match="holds rows of an unknown machine: name another"):
        read_operators(tmp_path)
    assert "resnet18.C3" not in read_operators(tmp_path, redone=["resnet18.C3"])


def test_the_page_says_how_often_which_way_was_the_fastest() -> None:
    fused = row("resnet18.C3", {"onednn": 2.0})
    fused["peers"]["onednn"]["way"] = "fused"
    assert "fastest: fused (2)" in " ".join(page_of([fused, fused, *EVERYTHING]).split())
