"""The epilogue of programs that are written loop by loop, against the operator's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tunesmith.compiler.compile import compiled
from tunesmith.operators import Matmul, matmul
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.epilogue import epilogue_tensors, finished
from tunesmith.sketches.tir.weights import program_of
from tunesmith.target import Target

LANES = 4


def _never(tensor: Any) -> Any:
    raise AssertionError(f"there is nothing to load: {tensor}")


def _program(operator: Matmul) -> Any:
    """A product of one row and one term: what follows the sums is most of it."""

    def main(buffers: list[Any]) -> None:
        data, weight, *_, result = buffers
        with emit.serial(operator.n // LANES, "step") as step:
            column = step * LANES
            sums = emit.broadcast(data[0, 0], LANES) * emit.load(weight, [0, column], LANES)
            value = finished(
                operator,
                sums,
                LANES,
                epilogue_tensors(buffers),
                of_channel=lambda tensor: emit.load(tensor, [column], LANES),
                of_element=lambda tensor: emit.load(tensor, [0, column], LANES),
            )
            emit.store(result, value, [0, column], LANES)

    return program_of(operator, main)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("relu", [False, True])
def test_sums_become_the_result(bias: bool, residual: bool, relu: bool) -> None:
    import tvm

    operator = matmul(m=1, n=12, k=1, bias=bias, residual=residual, relu=relu)
    inputs = operator.make_inputs(0)
    tensors = [tvm.runtime.tensor(array) for array in inputs]
    result = tvm.runtime.tensor(np.full((1, 12), np.nan, np.float32))
    compiled(_program(operator), Target().to_tvm())["main"](*tensors, result)
    np.testing.assert_allclose(result.numpy(), operator.reference(*inputs), rtol=1e-6)


def test_results_have_the_type_of_the_operator() -> None:
    operator = matmul(m=1, n=12, k=1, dtype="float16", relu=True)
    with emit.module(), emit.function("main", [operator.result]) as (result,):
        sums = emit.constant(-1, operator.accumulate_dtype, LANES)
        assert str(sums.ty.dtype) == "float32x4"
        value = finished(operator, sums, LANES, [], of_channel=_never, of_element=_never)
        assert str(value.ty.dtype) == "float16x4"
        emit.store(result, value, [0, 0], LANES)
