"""Row-wise operators on GPUs: rows that threads reduce together."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from tests.compiled import needs_nvcc
from tests.sketches.cuda.declarations import declared_shared_bytes
from tunesmith.cuda.compiler import compile_cuda
from tunesmith.cuda.lowering import cuda_source
from tunesmith.errors import InstantiationError
from tunesmith.operators import Operator, layer_norm, matmul, softmax
from tunesmith.sketches.cuda.rows.sketch import CudaRows, tiling_of
from tunesmith.sketches.tir.row_stages import known_row_stages
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

TARGET = Target("cuda", arch="sm_90")
SKETCH = CudaRows()
OPERATORS = (
    softmax(m=6, n=48),
    softmax(m=2, n=1000),
    softmax(m=1, n=1),
    layer_norm(m=6, n=96),
    layer_norm(m=2, n=1024, dtype="bfloat16"),
    layer_norm(m=13, n=13, dtype="float64"),
)


class TestCudaRows(SketchConformance):
    sketch = SKETCH
    on = TARGET
    operators = OPERATORS


@pytest.mark.parametrize("place", ["no", "registers", "shared"])
@pytest.mark.parametrize("threads", [1, 8, 64, 256])
def test_rows_may_be_kept_anywhere_whatever_the_threads(place: str, threads: int) -> None:
    """From one thread by way of parts of a warp to several warps, whose last ones have less."""
    operator = softmax(m=4, n=300)
    config = Config(
        {
            "tile_rows": (2, 2),
            "threads": threads,
            "vector": 2,
            "keep_data": place,
            "keep_exp": place,
            "auto_unroll_max_step": 0,
        }
    )
    if place == "registers" and threads == 1:
        with pytest.raises(InstantiationError, match="2400 bytes of sums and copies a thread"):
            SKETCH.program(operator, TARGET, config)
    else:
        assert mismatch(SKETCH, operator, config, TARGET) is None


@pytest.mark.parametrize("threads", [32, 64, 128])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_several_warps_share_totals_that_nobody_changes(threads: int, dtype: str) -> None:
    """The mean is a stage of its own, which must not be written in the place of the sum."""
    operator = layer_norm(m=4, n=300, dtype=dtype)
    default = SKETCH.default(operator, TARGET)
    config = Config({**default, "tile_rows": (2, 2), "threads": threads, "vector": 2})
    assert mismatch(SKETCH, operator, config, TARGET) is None


def test_one_element_a_thread_is_not_kept_by_several_warps() -> None:
    operator = softmax(m=4, n=64)
    changes = {"threads": 64, "vector": 1, "keep_data": "no"}
    config = Config({**SKETCH.default(operator, TARGET), **changes})
    with pytest.raises(InstantiationError, match="64 threads keep one element each of a row of 64"):
        SKETCH.program(operator, TARGET, config)
    for other in ({"keep_exp": "no"}, {"keep_data": "registers"}):
        assert mismatch(SKETCH, operator, Config({**config, **other}), TARGET) is None


@pytest.mark.parametrize(
    "operator",
    [
        *OPERATORS,
        softmax(m=64, n=1000, dtype="float16"),
        softmax(m=64, n=1000, dtype="bfloat16"),
        layer_norm(m=64, n=768, dtype="bfloat16"),
    ],
    ids=lambda operator: operator.key,
)
def test_shared_memory_and_threads_are_those_of_the_code(operator: Operator) -> None:
    """What is counted before anything is compiled is what TVM declares in the end."""
    checked = 0
    for config in SKETCH.space(operator, TARGET).sample_many(8, np.random.default_rng(2)):
        try:
            source = cuda_source(SKETCH.program(operator, TARGET, config), TARGET.to_tvm())
        except InstantiationError:
            continue
        stages = known_row_stages(operator, SKETCH.name)
        use = tiling_of(operator, stages, config).use(operator, stages)
        assert declared_shared_bytes(source) == use.shared_bytes, config.key
        found = re.findall(r"__launch_bounds__\((\d+)\) \w+\([^)]*\) \{", source)
        assert list(map(int, found or ["1"])) == [math.prod(use.threads)]
        checked += 1
    assert checked >= 3


@needs_nvcc
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("operator", [softmax, layer_norm])
def test_the_default_needs_few_registers(operator: type[Operator], dtype: str) -> None:
    rows = operator(m=512, n=1024, dtype=dtype)  # type: ignore[call-arg]
    program = SKETCH.program(rows, TARGET, SKETCH.default(rows, TARGET))
    cubin = compile_cuda(cuda_source(program, TARGET.to_tvm()), "sm_90")
    (used,) = cubin.resources.values()
    assert used.registers <= 64
    assert used.spill_stores == 0


def test_rows_that_no_block_can_keep_are_read_again() -> None:
    operator = softmax(m=2, n=1_000_000)
    config = SKETCH.default(operator, TARGET)
    assert config["keep_data"] == config["keep_exp"] == "no"
    SKETCH.program(operator, TARGET, config)


def test_it_is_for_several_reductions_on_a_gpu() -> None:
    assert not SKETCH.supports(matmul(m=4, n=4, k=4), TARGET)
    assert not SKETCH.supports(softmax(m=4, n=4), Target())
