"""The figures that sum up ``bench gpu``, its page, and its files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bench.gpu.figures import compared, figures, row, sketch_row, tuning
from tunesmith.bench.gpu.files import DATA, PAGE, read_gpu, write_gpu
from tunesmith.bench.gpu.page import gpu_page
from tunesmith.bench.gpu.summary import GpuFigure, gpu_summary
from tunesmith.bench.gpu.workloads import SQUARE, gpu_workloads
from tunesmith.errors import TunesmithError

GOLDEN = Path(__file__).parent / "golden"

SKETCHES = [
    sketch_row("cuda_tiled", NO_ERROR=8, INSTANTIATION_ERROR=2),
    sketch_row("cuda_gemm_424", NO_ERROR=3, INSTANTIATION_ERROR=7),
]
BROKEN = {
    **sketch_row("cuda_winograd", NO_ERROR=1, WRONG_ANSWER=2, RUN_TIMEOUT=1),
    "unfinished": 3,
    "failures": [
        {
            "operator": "conv2d(ci=32)",
            "config": {},
            "outcome": "WRONG_ANSWER",
            "message": "1 of 2 elements wrong",
        }
    ],
}
RECORDING = {
    "layer": "resnet18.C12",
    "operator": {},
    "sketch": "cuda_conv2d_direct",
    "file": "gpu-recording/recorded.json.gz",
    "configs": 1200,
    "space_size": 844_800,
    "outcomes": {"NO_ERROR": 300, "INSTANTIATION_ERROR": 900},
    "seconds": 72.5,
    "best_seconds": 6.25e-5,
}


def everything(ratio: float = 1.2, **pace: float) -> dict[str, Any]:
    """Figures with all workloads, each with this ratio."""
    rows = [
        row(name, tuning=tuning(**pace), comparison=compared(ratio)) for name in gpu_workloads()
    ]
    return figures(rows, sketches=SKETCHES)


def by_name(found: list[GpuFigure]) -> dict[str, GpuFigure]:
    return {figure.name: figure for figure in found}


# --- The figures


def test_all_figures_are_reached_by_rows_that_are_good_enough() -> None:
    reached = [figure.reached for figure in gpu_summary(everything()) if figure.wanted is not None]
    assert len(reached) == 9
    assert all(reached)


def test_no_figure_is_reached_by_rows_that_are_not() -> None:
    bad = everything(0.5, pace=7.9, idle=0.31)
    bad["rows"][0]["tuning"]["outcomes"]["WRONG_ANSWER"] = 1
    bad["sketches"] = [BROKEN, sketch_row("cuda_tiled", INSTANTIATION_ERROR=4)]
    reached = [figure.reached for figure in gpu_summary(bad) if figure.wanted is not None]
    assert reached == [False] * len(reached)


def test_a_figure_is_of_its_workloads_alone() -> None:
    ratios = (0.5, 1.0, 2.0)
    rows = [row(name, comparison=compared(r)) for name, r in zip(SQUARE, ratios, strict=True)]
    found = by_name(gpu_summary(figures([*rows, row("resnet18.C1", comparison=compared(9.0))])))
    square = found["matmul 1024–4096 against cuBLAS"]
    assert square.value == pytest.approx(1.0)
    assert square.reached
    layers = found["ResNet-18 C1–C12 against cuDNN"]
    assert (layers.have, layers.of, layers.reached) == (1, 12, None), "eleven layers are missing"


def test_nothing_measured_gives_no_figures() -> None:
    assert all(figure.value is None and not figure.reached for figure in gpu_summary(figures()))


def test_sketches_that_no_operator_was_for_are_not_counted() -> None:
    other = {**sketch_row("cuda_other"), "operators": []}
    found = by_name(gpu_summary(figures(sketches=[*SKETCHES, other])))
    without = found["sketches without a valid trial"]
    assert (without.value, without.have, without.of, without.reached) == (0, 2, 2, True)


# --- The page


def test_the_page(check_golden: Callable[[Path, str], None]) -> None:
    failing = {**tuning(), "outcomes": {"NO_ERROR": 9, "RUN_TIMEOUT": 2, "WRONG_ANSWER": 1}}
    rows = [
        row("resnet18.C1", comparison=compared(1.25, "cuDNN", "channels last"), tuning=failing),
        row("matmul.4096+bfloat16", comparison={**compared(0.6), "disturbed": True}),
        row("opevo.BMM.TN", comparison={"missing": "our program failed: out of memory"}),
        row("resnet18.C2", tuning={"missing": "no time was left"}, comparison={"missing": "x"}),
    ]
    parts = {
        "sketches": {"seconds": 41.0, "failed": None},
        "tuning": {"seconds": 240.0, "failed": None},
        "peers": {"seconds": 0.5, "failed": "RuntimeError: it broke"},
    }
    made = figures(rows, sketches=[*SKETCHES, BROKEN], parts=parts, recording=RECORDING)
    check_golden(GOLDEN / "page.md", gpu_page(made))


def test_tables_and_paragraphs_fit_a_hundred_columns() -> None:
    page = gpu_page({**everything(), "recording": RECORDING})
    assert max(map(len, page.splitlines())) <= 100


def test_a_page_without_peers_says_why_once() -> None:
    reason = "PyTorch 2.13.0+cpu is without CUDA: install a build for CUDA"
    rows = [row(name, comparison={"missing": reason}) for name in SQUARE]
    page = gpu_page(figures(rows, libraries={"missing": reason, "versions": {}}))
    assert re.sub(r"\s+", " ", page).count(reason) == 1
    assert "| matmul.1024 | 100 µs | 1.00 | – | – | – | – |" in page


# --- The files


def test_files_read_back(tmp_path: Path) -> None:
    assert read_gpu(tmp_path) is None
    rows = [row("matmul.1024"), row("resnet18.C2"), row("matmul --m 3"), row("resnet18.C1")]
    written, page = write_gpu(tmp_path, figures(rows))
    order = [each["workload"] for each in written["rows"]]
    assert order == ["resnet18.C1", "resnet18.C2", "matmul.1024", "matmul --m 3"]
    assert (tmp_path / PAGE).read_text(encoding="utf-8") == page
    assert json.loads((tmp_path / DATA).read_text(encoding="utf-8")) == written
    assert read_gpu(tmp_path) == written
    assert {"name", "value", "wanted", "reached", "have", "of"} <= written["figures"][0].keys()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rows": []}'])
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / DATA).write_text(text, encoding="utf-8")
    with pytest.raises(TunesmithError, match=r"holds no figures of an earlier run"):
        read_gpu(tmp_path)
