"""The G-BFS and N-A2C paper's space on a GPU: its size, its programs, and who gets it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from tests.properties import examples
from tunesmith.errors import InstantiationError
from tunesmith.operators import dense, matmul, workload
from tunesmith.sketches import sketches_for
from tunesmith.sketches.papers.cuda_gemm_424 import CudaGemm424
from tunesmith.space import Factorization
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

TARGET = Target("cuda", arch="sm_90")
SKETCH = CudaGemm424()


class TestCudaGemm424(SketchConformance):
    sketch = SKETCH
    on = TARGET
    operators = (
        matmul(m=32, n=48, k=24),
        matmul(m=7, n=13, k=1, bias=True, relu=True),
        matmul(m=1, n=1, k=1),
        matmul(m=8, n=34, k=16, dtype="int8"),
    )


@pytest.mark.parametrize(("size", "configs"), [(512, 484_000), (1024, 899_756), (2048, 1_589_952)])
def test_the_space_is_as_large_as_the_papers(size: int, configs: int) -> None:
    """Section 4 gives these numbers."""
    space = SKETCH.space(workload(f"matmul.{size}"), TARGET)
    assert space.size == configs == space.cartesian_size
    assert space.parameters == (
        Factorization("tile_m", size, 4),
        Factorization("tile_n", size, 4),
        Factorization("tile_k", size, 2),
    )


def test_it_takes_part_only_where_it_is_named() -> None:
    product = matmul(m=64, n=64, k=64)
    assert SKETCH not in sketches_for(product, TARGET)
    assert [it.name for it in sketches_for(product, TARGET, [SKETCH.name])] == [SKETCH.name]
    assert not SKETCH.supports(product, Target())
    assert not SKETCH.supports(dense(m=1, n=64, k=64), TARGET)


@examples(6)
@given(m=st.integers(1, 40), n=st.integers(1, 40), k=st.integers(1, 20), seed=st.integers(0, 1000))
def test_any_config_computes_the_reference(m: int, n: int, k: int, seed: int) -> None:
    operator = matmul(m=m, n=n, k=k)
    config = SKETCH.space(operator, TARGET).sample(np.random.default_rng(seed))
    try:
        wrong = mismatch(SKETCH, operator, config, TARGET)
    except InstantiationError:
        reject()
    assert wrong is None, config.key
