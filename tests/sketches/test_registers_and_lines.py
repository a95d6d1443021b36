"""What keeps the cores of sketches fast: sums that stay in registers, weights asked for early."""

from __future__ import annotations

from typing import Any

import pytest

from tests.processors import each_target
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import Operator, conv2d, conv2d_transpose, matmul
from tunesmith.sketches import Sketch
from tunesmith.sketches.cpu.direct.sketch import CpuDirect
from tunesmith.sketches.cpu.gemm.sketch import CpuGemm
from tunesmith.sketches.cpu.transpose.sketch import CpuTranspose
from tunesmith.sketches.cpu.winograd.sketch import CpuWinograd
from tunesmith.sketches.tir.multiply_add import is_register, moves_sums
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.testing.sketch import mismatch

AVX2, AVX512 = Target(mcpu="haswell"), Target(mcpu="skylake-avx512")
LAYER = conv2d(ci=16, h=14, w=14, co=32, kernel=3, padding=1, constant_weights=True)
DIRECT: dict[str, Any] = {
    "vectorize": "channels",
    "tails": "overlap",
    "block": 16,
    "copy": "image",
    "data": "plain",
    "tile_rows": 1,
}
WINOGRAD: dict[str, Any] = {"register_tiles": 8, "ci_lanes": 8, "stages": "shared"}


# -- sums in registers ----------------------------------------------------------------------------

DOUBLES = conv2d(ci=16, h=14, w=14, co=8, kernel=3, padding=1, dtype="float64")
LONG = DIRECT | {"tile_columns": 12, "tile_channels": 1}
WIDE = DIRECT | {"tile_rows": 2, "tile_columns": 7, "tile_channels": 1}
# A sketch, an operator, what is changed of the default, and multiply-adds of a body.
ONE_VECTOR: dict[str, tuple[Sketch, Operator, dict[str, Any], int]] = {
    "2x7": (CpuDirect(), LAYER, WIDE | {"steps": 8}, 112),
    "1x12": (CpuDirect(), LAYER, LONG | {"steps": 16}, 192),
    "prefetch": (CpuDirect(), LAYER, LONG | {"steps": 4, "prefetch": 8}, 48),
    "float64": (CpuDirect(), DOUBLES, LONG | {"steps": 8}, 96),
    "winograd": (CpuWinograd(), LAYER, WINOGRAD | {"register_vectors": 1, "unroll": 8}, 64),
}


@pytest.mark.parametrize("case", ONE_VECTOR)
def test_no_sum_leaves_its_register_on_avx2(case: str) -> None:
    """Each broadcast has one use, over which LLVM would write the new sum."""
    made, operator, changes, products = ONE_VECTOR[case]
    config = made.default(operator, AVX2).replace(**changes)
    kernel = TaskProblem.of(Task(operator, AVX2), made.name).kernel(config)
    code = kernel.source("asm", "main")
    instruction = "vfmadd231pd" if operator.dtype == "float64" else "vfmadd231ps"
    body = max(code.split("\n\tj"), key=lambda part: part.count(instruction))
    assert body.count(instruction) == products
    assert "vfmadd213" not in body
    assert "ymm" not in "".join(line for line in body.splitlines() if "(%rsp)" in line)


@each_target
@pytest.mark.parametrize("case", ONE_VECTOR)
def test_tiles_of_one_vector_compute_the_reference(case: str, target: Target) -> None:
    made, operator, changes, _ = ONE_VECTOR[case]
    config = made.default(operator, target).replace(**changes)
    wrong = mismatch(made, operator, config, target)
    assert wrong is None, f"{config.key}: {wrong}"


def test_vectors_that_pass_by_are_read_by_the_instruction_that_multiplies_them() -> None:
    """A transposed convolution may hold its only scalar: then no broadcast passes by."""
    tile = {"tile_rows": 5, "tile_columns": 2, "tile_channels": 1}
    chosen = {"vectorize": "columns", "copy": "image", "block": 16, "data": "plain", "steps": 4}
    wide = conv2d_transpose(ci=16, h=8, w=32, co=8, kernel=2, stride=2)
    made = CpuTranspose()
    config = made.default(wide, AVX2).replace(**chosen | tile)
    assert "tunesmith_multiply_add" not in made.program(wide, AVX2, config).script()
    direct = CpuDirect()
    held = direct.default(LAYER, AVX2).replace(**LONG | {"steps": 4})
    assert "tunesmith_multiply_add" in direct.program(LAYER, AVX2, held).script()


def test_llvm_is_told_where_it_moves_sums_alone() -> None:
    assert moves_sums(AVX2)
    assert moves_sums(Target(mcpu="znver3"))
    assert not moves_sums(AVX512)
    assert not moves_sums(Target(mcpu="sandybridge"))  # has no fused multiply-add
    assert not moves_sums(Target(mcpu="x86-64"))
    lengths = {dtype: [n for n in (1, 2, 4, 8, 16) if is_register(dtype, n)] for dtype in TYPES}
    assert lengths == {"float32": [4, 8], "float64": [2, 4], "int32": []}


TYPES = ("float32", "float64", "int32")


# -- weights asked for early ----------------------------------------------------------------------

# What a step reads of the weights: half a line, a line, one and a half; a line, two lines.
ASKED = [
    (CpuDirect(), LAYER, AVX2, {"tile_columns": 12, "tile_channels": 1}, 2),
    (CpuDirect(), LAYER, AVX2, {"tile_columns": 6, "tile_channels": 2}, 4),
    (CpuDirect(), LAYER, AVX2, {"tile_columns": 4, "tile_channels": 3}, 6),
    (CpuDirect(), LAYER, AVX512, {"tile_columns": 12, "tile_channels": 2}, 8),
    (CpuWinograd(), LAYER, AVX2, {"register_vectors": 1}, 2),
    (CpuWinograd(), LAYER, AVX2, {"register_vectors": 2, "register_tiles": 4}, 4),
    (CpuWinograd(), LAYER, AVX512, {"register_vectors": 2, "register_tiles": 4}, 8),
]


@pytest.mark.parametrize(("made", "operator", "target", "tile", "lines"), ASKED)
def test_each_line_of_weights_is_asked_for_once(
    made: Sketch, operator: Operator, target: Target, tile: dict[str, Any], lines: int
) -> None:
    """Four steps are unrolled."""
    chosen = DIRECT | {"steps": 4} if made.name == "cpu_direct" else WINOGRAD | {"unroll": 4}
    default = made.default(operator, target)
    for prefetch, expected in ((0, 0), (8, lines)):
        config = default.replace(**chosen | tile, prefetch=prefetch)
        script = made.program(operator, target, config).script()
        assert script.count("llvm.prefetch") == expected


@pytest.mark.parametrize(("target", "lines"), [(AVX2, 1), (AVX512, 2)])
def test_a_product_asks_for_each_line_once(target: Target, lines: int) -> None:
    product = matmul(m=64, k=64, n=64)
    chosen = {"rows": 4, "vectors": 2, "unroll": 4, "pack_right": "whole", "prefetch": 8}
    config = CpuGemm().default(product, target).replace(**chosen)
    script = CpuGemm().program(product, target, config).script()
    assert script.count("llvm.prefetch") == lines * 4
