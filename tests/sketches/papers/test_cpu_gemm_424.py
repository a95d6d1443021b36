"""The sketch of the G-BFS and N-A2C paper's space: its size, its programs, and who gets it."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.strategies import ALL_TYPES
from tests.processors import any_target, each_target
from tests.properties import examples
from tunesmith.errors import InstantiationError, UsageError
from tunesmith.operators import batch_matmul, dense, matmul, workload
from tunesmith.sketches import sketch_for, sketches, sketches_for
from tunesmith.sketches.papers.cpu_gemm_424 import MAX_UNROLLED, CpuGemm424
from tunesmith.space import Config, Factorization
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

TARGET = Target()
SKETCH = CpuGemm424()


class TestCpuGemm424(SketchConformance):
    sketch = SKETCH
    operators = (
        matmul(m=64, n=48, k=24),
        matmul(m=7, n=13, k=1, bias=True, relu=True),
        matmul(m=1, n=1, k=1),
        matmul(m=12, n=40, k=30, residual=True, constant_weights=True),
        matmul(m=15, n=32, k=21, dtype="bfloat16"),
        matmul(m=8, n=34, k=16, dtype="int8"),
    )


# -- the space ------------------------------------------------------------------------------------


@each_target
@pytest.mark.parametrize(("size", "configs"), [(512, 484_000), (1024, 899_756), (2048, 1_589_952)])
def test_the_space_is_as_large_as_the_papers(size: int, configs: int, target: Target) -> None:
    """Section 4 gives these numbers."""
    space = SKETCH.space(workload(f"matmul.{size}"), target)
    assert space.size == configs == space.cartesian_size
    assert space.constraints == ()
    assert space.parameters == (
        Factorization("tile_m", size, 4),
        Factorization("tile_k", size, 2),
        Factorization("tile_n", size, 4),
    )


@each_target
def test_the_papers_first_state_and_its_neighbours_are_configs(target: Target) -> None:
    """From [m, 1, 1, 1] a factor of 2 moves to one of three places, from [k, 1] to one."""
    space = SKETCH.space(matmul(m=1024, n=1024, k=1024), target)
    first = Config({"tile_m": (1024, 1, 1, 1), "tile_k": (1024, 1), "tile_n": (1024, 1, 1, 1)})
    assert len(space.neighbours(first)) == 3 + 1 + 3


# -- who gets it ----------------------------------------------------------------------------------


@each_target
def test_it_is_for_plain_products_on_a_cpu(target: Target) -> None:
    assert SKETCH.supports(matmul(m=4, n=4, k=4), target)
    assert not SKETCH.supports(dense(m=4, n=4, k=4), target)
    assert not SKETCH.supports(batch_matmul(b=2, m=4, n=4, k=4), target)


@each_target
def test_it_is_found_by_its_name_alone(target: Target) -> None:
    operator = matmul(m=64, n=64, k=64)
    assert SKETCH.name in sketches()
    assert SKETCH.name not in [each.name for each in sketches_for(operator, target)]
    assert SKETCH.name not in [
        each.name for each in sketches_for(operator, target, without=["cpu_gemm"])
    ]
    assert isinstance(sketch_for(operator, target, SKETCH.name), CpuGemm424)
    both = sketches_for(operator, target, ["cpu_gemm", SKETCH.name])
    assert [each.name for each in both] == ["cpu_gemm", SKETCH.name]


@each_target
def test_what_else_fits_is_not_this_one(target: Target) -> None:
    with pytest.raises(UsageError, match=r"take cpu_tiled or cpu_gemm\Z"):
        sketches_for(dense(m=4, n=4, k=4), target, [SKETCH.name])
    with pytest.raises(UsageError, match=r"take cpu_tiled or cpu_gemm\Z"):
        sketches_for(matmul(m=4, n=4, k=4), target, ["cpu_rows"])


# -- its programs ---------------------------------------------------------------------------------


_SIZES = st.sampled_from((1, 2, 3, 4, 6, 7, 8, 12, 13, 17, 24, 32, 48, 64))


@examples(25)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1), target=any_target)
def test_the_program_of_any_config_computes_the_reference(
    data: st.DataObject, seed: int, target: Target
) -> None:
    operator = matmul(
        m=data.draw(_SIZES),
        n=data.draw(_SIZES),
        k=data.draw(_SIZES),
        bias=data.draw(st.booleans()),
        relu=data.draw(st.booleans()),
        dtype=data.draw(st.sampled_from(ALL_TYPES)),
    )
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, target)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


def _script(size: int, *tiles: tuple[int, ...]) -> str:
    config = Config(dict(zip(("tile_m", "tile_k", "tile_n"), tiles, strict=True)))
    operator = matmul(m=size, n=size, k=size)
    return str(SKETCH.program(operator, TARGET, config).script())


def _kinds(script: str) -> dict[str, list[int]]:
    """The extents of the parallel loop, and of unrolled and vectorised ones within the sum."""
    before, _, after = script.partition("matmul_init")
    return {
        kind: [int(n) for n in re.findall(rf"T\.{kind}\((\d+)\)", text)]
        for kind, text in (("parallel", before), ("unroll", after), ("vectorized", after))
    }


def test_factors_become_the_loops_that_they_say() -> None:
    kinds = _kinds(_script(512, (8, 4, 4, 4), (128, 4), (2, 16, 1, 16)))
    assert kinds["parallel"] == [8 * 2]
    assert kinds["unroll"][-2:] == [4, 4], "steps of the sum, then rows of the register tile"
    assert set(kinds["vectorized"]) == {16}


@pytest.mark.parametrize(
    ("tile_m", "tile_k", "tile_n"),
    [
        ((1, 1, 1, 512), (1, 512), (1, 1, 1, 512)),
        ((512, 1, 1, 1), (512, 1), (512, 1, 1, 1)),
        ((1, 1, 512, 1), (2, 256), (1, 1, 512, 1)),
        ((1, 2, 4, 64), (1, 512), (32, 1, 1, 16)),
        ((8, 1, 1, 64), (8, 64), (4, 1, 1, 128)),
    ],
)
def test_code_has_a_bounded_length(
    tile_m: tuple[int, ...], tile_k: tuple[int, ...], tile_n: tuple[int, ...]
) -> None:
    """So that every config builds in a second or so, the slowest ones too."""
    kinds = _kinds(_script(512, tile_m, tile_k, tile_n))
    assert math.prod(kinds["unroll"]) <= MAX_UNROLLED
    assert all(lanes <= 16 for lanes in kinds["vectorized"])


def test_other_factors_are_an_instantiation_error() -> None:
    with pytest.raises(InstantiationError, match="the sketch's space has no such config"):
        _script(512, (8, 4, 4, 8), (128, 4), (2, 16, 1, 16))


@each_target
def test_the_default_keeps_its_sums_in_registers(target: Target) -> None:
    config = SKETCH.default(matmul(m=96, n=80, k=24), target)
    assert config == Config({"tile_m": (16, 1, 1, 6), "tile_k": (1, 24), "tile_n": (1, 5, 1, 16)})
