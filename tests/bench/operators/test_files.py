"""Which file rows stand in: by suite, and by the instructions that programs are compiled for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.bench.operators.rows import row
from tunesmith.bench.operators.files import OperatorFigures, read_operators, write_operators
from tunesmith.bench.operators.summary import summary
from tunesmith.bench.operators.workloads import Suite
from tunesmith.errors import TunesmithError
from tunesmith.target import Target

pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="these are processors of x86"
)
HASWELL = {"kind": "cpu", "mcpu": "haswell", "cores": None}
KEPT = {"kept": True, "how": "held to AVX2 by X=1"}
FREE = {"kept": False, "how": "not held to AVX2: it has no switch, and nothing can be hidden"}


def held(workload: str, ratios: dict[str, float]) -> dict[str, Any]:
    made = row(workload, ratios, target=HASWELL, held_to="AVX2")
    for name, peer in made["peers"].items():
        peer["held"] = FREE if name == "onnxruntime" else KEPT
    return made


@pytest.mark.parametrize(
    ("suite", "mcpu", "name"),
    [
        (Suite.LAYERS, "znver4", "operators"),
        (Suite.LAYERS, "haswell", "operators-avx2"),
        (Suite.SHAPES, "skylake-avx512", "operators-shapes"),
        (Suite.SHAPES, "znver3", "operators-shapes-avx2"),
    ],
)
def test_the_name_tells_suite_and_instructions(suite: Suite, mcpu: str, name: str) -> None:
    assert OperatorFigures(suite, Target(mcpu=mcpu)).name == name


def test_files_of_another_suite_and_processor_are_left_alone(tmp_path: Path) -> None:
    shapes = OperatorFigures(Suite.SHAPES, Target(mcpu="haswell"))
    rows = [
        held("shapes.conv_1x7", {"onednn": 1.5, "onnxruntime": 1.25}),
        held("shapes.softmax_1536x128", {"onednn": 0.5, "openvino": 0.75}),
        held("shapes.max_pool_2x2", {"onednn": 2.0, "onnxruntime": 0.875}),
    ]
    _, page = write_operators(tmp_path, rows, of=shapes)
    assert {path.name for path in tmp_path.iterdir()} == {
        *("operators-shapes-avx2.json", "operators-shapes-avx2.md"),
        *("operators-shapes-avx2-ratios.svg", "operators-shapes-avx2-starts.svg"),
    }
    assert list(read_operators(tmp_path, of=shapes)) == [each["workload"] for each in rows]
    assert read_operators(tmp_path, of=OperatorFigures(Suite.LAYERS, shapes.target)) == {}
    text = " ".join(page.split())
    assert text.startswith("# Shapes of other kinds against other libraries")
    assert "- compiled for haswell (AVX2)" in text
    assert "Under 1.0 are 2 of 3 rows: shapes.softmax_1536x128, shapes.max_pool_2x2." in text
    assert "In 2 of 3 rows the best peer could not be held" in text
    assert "(ONNX Runtime 2)" in text
    assert "not held to AVX2: it has no switch, and nothing can be hidden (2 rows)" in text
    assert "held to AVX2 by X=1 (3 rows)" in text
    assert max(map(len, page.splitlines())) <= 100


def test_rows_for_another_processor_are_refused(tmp_path: Path) -> None:
    haswell, zen = (OperatorFigures(target=Target(mcpu=name)) for name in ("haswell", "znver3"))
    write_operators(tmp_path, [held("matmul.512", {"onednn": 1.5})], of=haswell)
    with pytest.raises(
        TunesmithError, match=r"for another processor \(haswell, not znver3\): name"
    ):
        read_operators(tmp_path, of=zen)
    assert read_operators(tmp_path, ["matmul.512"], of=zen) == {}


def test_every_shape_is_a_figure() -> None:
    rows = [held("shapes.conv_1x7", {"onednn": 1.5}), held("shapes.conv_7x1", {"onednn": 0.75})]
    least, mean, *each = summary(rows, Suite.SHAPES)
    assert (least.value, least.have, least.of, least.reached) == (0.75, 2, 26, False)
    assert mean.value == pytest.approx((1.5 * 0.75) ** 0.5)
    known = {figure.name: figure for figure in each}
    assert len(known) == 26
    assert known["shapes.conv_1x7"].reached
    assert not known["shapes.conv_7x1"].reached
    assert known["shapes.softmax_1536x128"].value is None
    assert summary([], Suite.SHAPES)[0].value is None
