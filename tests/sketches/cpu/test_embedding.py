"""The sketch of look-ups: any table, any indices and any config."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.strategies import ALL_TYPES
from tests.processors import any_target, each_target
from tests.properties import examples
from tunesmith.kernel.kernel import Kernel
from tunesmith.operators import Embedding, Operator, embedding
from tunesmith.sketches.cpu.embedding import CpuEmbedding
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

SKETCH = CpuEmbedding()


class TestCpuEmbedding(SketchConformance):
    sketch = SKETCH
    operators = (
        embedding(n=6, rows=10, width=48),
        embedding(n=1, rows=1, width=1, dtype="int8"),
        embedding(n=33, rows=7, width=37, dtype="bfloat16", index_dtype="int32"),
        embedding(n=5, rows=100, width=257, dtype="float16"),
    )


@st.composite
def look_ups(draw: st.DrawFn) -> Operator:
    return embedding(
        n=draw(st.integers(1, 40)),
        rows=draw(st.integers(1, 20)),
        width=draw(st.sampled_from((1, 2, 3, 8, 15, 31, 64, 100, 257))),
        dtype=draw(st.sampled_from(ALL_TYPES)),
        index_dtype=draw(st.sampled_from(("int32", "int64"))),
    )


@examples(40)
@given(operator=look_ups(), seed=st.integers(0, 2**32 - 1), target=any_target)
def test_any_config_computes_the_reference(target: Target, operator: Operator, seed: int) -> None:
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, target)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


@each_target
@pytest.mark.parametrize("prefetch", [0, 4])
@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
def test_indices_outside_of_the_table_read_its_first_or_last_row(
    target: Target, index_dtype: Any, prefetch: int
) -> None:
    operator = embedding(n=6, rows=5, width=20, index_dtype=index_dtype)
    _, table = operator.make_inputs(0)
    extremes = np.iinfo(index_dtype)
    indices = np.array([extremes.min, -1, 0, 4, 5, extremes.max], index_dtype)
    config = SKETCH.default(operator, target).replace(prefetch=prefetch)
    kernel = Kernel.build(operator, target, SKETCH.program(operator, target, config), config)
    found = kernel(indices, table)
    np.testing.assert_array_equal(found, table[[0, 0, 0, 4, 4, 4]])
    np.testing.assert_array_equal(operator.reference(indices, table), found)


def test_small_look_ups_wake_no_core_and_large_ones_do() -> None:
    target = Target(mcpu="x86-64-v3", cores=4)
    tasks = [
        SKETCH.default(Embedding(n=n, rows=1000, width=650), target)["tasks"] for n in (20, 2000)
    ]
    assert tasks == [1, 4]


def test_inputs_are_indices_within_the_table() -> None:
    operator = embedding(n=1000, rows=7, width=3)
    indices, table = operator.make_inputs(0)
    assert set(indices) == set(range(7))
    assert indices.dtype == np.int64
    assert table.shape == (7, 3)
