"""The choices that the sketches of products on CPUs have in common."""

from __future__ import annotations

import pytest

from tunesmith.operators import matmul
from tunesmith.sketches.cpu.gemm import Precision, Products
from tunesmith.sketches.cpu.gemm.space import (
    LoopChoices,
    default_depth,
    depths_of,
    packings,
    widest_lanes,
)
from tunesmith.target import Target

TARGET = Target(mcpu="skylake-avx512", cores=3)
CHOICES = LoopChoices(
    rows=(1, 2, 40),
    chains=(1, 2),
    prefetch=(0, 4),
    parts=(1, 2, 4),
    per_core=(1, 2),
    blocks=(1, 2),
    largest_body=64,
)


def test_k_tiles_are_long_divisors_of_the_reduction() -> None:
    assert depths_of(Precision("float32", "float32"), 256) == (64, 128, 256)
    assert depths_of(Precision("float32", "float32"), 192) == (64, 96, 192)
    assert depths_of(Precision("float32", "float32"), 192, multiple=64) == (64, 192)
    assert depths_of(Precision("float32", "float32"), 40) == (40,)


def test_words_of_several_elements_may_allow_only_the_whole_reduction() -> None:
    shifted = Precision("int8", "int32", Products.DOT_INT8)
    paired = Precision("bfloat16", "float32", Products.DOT_BFLOAT16)
    assert depths_of(shifted, 1024) == (256,), "sums do not begin at 0"
    assert depths_of(paired, 512) == (64, 128, 256)
    assert depths_of(paired, 511) == (256,), "the last word is not full"


@pytest.mark.parametrize(("most", "depth"), [(1000, 256), (200, 128), (64, 64), (10, 256)])
def test_the_default_k_tile_is_the_longest_below_a_limit(most: int, depth: int) -> None:
    assert default_depth((64, 128, 256), most) == depth


def test_constant_operands_are_packed_before_the_call_or_not_at_all() -> None:
    assert packings(readable=True) == ("none", "whole", "block")
    assert packings(readable=True, constant=True) == ("none", "whole")
    assert packings(readable=False, constant=True) == ("whole",)


@pytest.mark.parametrize(("columns", "lanes"), [(100, 16), (16, 16), (15, 8), (3, 2), (1, 1)])
def test_vectors_are_no_wider_than_the_result(columns: int, lanes: int) -> None:
    assert widest_lanes(matmul(m=4, n=columns, k=4), columns, TARGET) == lanes


def test_parts_are_those_of_the_cores_too_and_no_more_than_there_are_tiles() -> None:
    assert CHOICES.parts_of(100, TARGET) == (1, 2, 3, 4, 6)
    assert CHOICES.parts_of(3, TARGET) == (1, 2, 3)


def test_the_default_has_a_task_for_each_core_along_the_longer_axis() -> None:
    shares = CHOICES.default_parts(1, (8, 64), (4, 16), TARGET)
    assert shares == {"row_parts": 1, "column_parts": 3}
    assert set(CHOICES.default_parts(3, (8, 64), (4, 16), TARGET).values()) == {1}


def test_rows_of_a_register_tile_leave_registers_for_vectors() -> None:
    names = {p.name: p for p in CHOICES.parameters((100, 100), (8, 16), (4,), TARGET)}
    assert list(getattr(names["rows"], "values", ())) == [1, 2], "of 32 registers two are left"
