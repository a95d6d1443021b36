"""LSTM and GRU on GPUs: a kernel for each step."""

from __future__ import annotations

import math

import pytest

from tests.compiled import needs_nvcc
from tests.emulated import needs_compiler
from tunesmith.cuda.compiler import compile_cuda
from tunesmith.cuda.lowering import cuda_code, cuda_source
from tunesmith.errors import UsageError
from tunesmith.operators import gru, lstm, matmul
from tunesmith.sketches.cuda.recurrent.sketch import CudaRecurrent
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

TARGET = Target("cuda", arch="sm_90")
SKETCH = CudaRecurrent()
OPERATORS = (
    lstm(units=1),
    lstm(b=3, units=37, constant_weights=True),
    lstm(steps=3, b=2, units=13, reverse=True, dtype="bfloat16", constant_weights=True),
    gru(b=5, units=18, dtype="float64"),
    gru(steps=3, units=40, dtype="float16"),
)


@needs_compiler
class TestCudaRecurrent(SketchConformance):
    sketch = SKETCH
    on = TARGET
    operators = OPERATORS


@needs_compiler
@pytest.mark.parametrize("changes", [{"slices": 1}, {"slices": 8, "unroll": 4}, {"rows": 1}])
def test_any_share_of_the_sums_computes_the_reference(changes: dict[str, int]) -> None:
    operator = lstm(steps=2, b=3, units=33)
    config = SKETCH.default(operator, TARGET).replace(**changes)
    assert mismatch(SKETCH, operator, config, TARGET) is None


def test_other_operators_are_refused() -> None:
    with pytest.raises(UsageError, match="sketch cuda_recurrent is for lstm and gru"):
        SKETCH.space(matmul(m=2, n=2, k=2), TARGET)


def test_each_step_is_a_launch_and_weights_are_laid_out_once() -> None:
    operator = gru(steps=5, b=2, units=32, constant_weights=True)
    config = SKETCH.default(operator, TARGET)
    code = cuda_code(SKETCH.program(operator, TARGET, config), TARGET.to_tvm())
    launches = code.functions["main"].launches
    assert len(launches) == 5
    assert {math.prod(launch.grid) for launch in launches} == {2}
    assert len(code.functions["prepare"].launches) == 1
    assert code.functions["main"].workspaces == ()


def test_more_threads_for_a_unit_are_estimated_as_faster_where_there_are_few_units() -> None:
    operator = lstm(units=650, steps=20, constant_weights=True)
    default = SKETCH.default(operator, TARGET)
    seconds = [
        SKETCH.estimate(operator, TARGET, default.replace(slices=slices, unroll=1)) or 0.0
        for slices in (1, 4, 16)
    ]
    assert seconds[0] > seconds[1] > seconds[2] > 0


@needs_nvcc
def test_nvcc_compiles_it() -> None:
    operator = lstm(steps=2, b=3, units=37, dtype="float16", constant_weights=True)
    config = SKETCH.default(operator, TARGET)
    source = cuda_source(SKETCH.program(operator, TARGET, config), TARGET.to_tvm())
    found = compile_cuda(source, "sm_90").resources
    assert found
    assert {(one.spill_stores, one.spill_loads) for one in found.values()} == {(0, 0)}
