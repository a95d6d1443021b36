"""PyTorch computes what our references do, so that its speed may be set beside ours."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.operators.strategies import NAMES, operators
from tests.properties import examples
from tunesmith.bench.peers import refusals
from tunesmith.bench.peers.torch_operators import torch_call
from tunesmith.errors import UsageError
from tunesmith.operators import (
    Operator,
    ProductOperator,
    elementwise,
    gru,
    lstm,
    matmul,
    workload,
)

torch = pytest.importorskip("torch", reason="PyTorch is what is compared with")

# Unit roundoffs of the types that PyTorch may round to between two steps, with some to spare.
_COARSE = {"float16": 2.0**-8, "bfloat16": 2.0**-5}

NOT_COMPARED = ("elementwise", "lstm", "gru")


def assert_same(operator: Operator, seed: int = 0) -> None:
    """Fail unless PyTorch's result is the reference's, whose axes may be in another order."""
    inputs = operator.make_inputs(seed)
    # oneDNN (as PyTorch 2.13 has it) crashes for some dilated depthwise layers of one pixel's width
    # with the channels last. A side of a comparison may die of that, a test run must not.
    with torch.backends.mkldnn.flags(enabled=False):
        result: Any = torch_call(operator, inputs, 1)()
    if getattr(operator, "layout", "NCHW") == "NHWC":
        result = result.permute(0, 2, 3, 1)
    expected = np.asarray(operator.reference(*inputs), "float64")
    assert str(result.dtype) == f"torch.{operator.result.dtype}"
    relative, absolute = operator.tolerance
    scale = max(1.0, float(np.abs(expected).max()))
    coarse = _COARSE.get(operator.dtype, 0.0)
    np.testing.assert_allclose(
        result.double().numpy(), expected, max(relative, coarse), max(absolute, coarse * scale)
    )


# PyTorch itself looks for Intel's GPUs when its flags are put back.
@pytest.mark.filterwarnings("ignore:TF32 acceleration")
@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_COMPARED])
@settings(examples(60), suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_every_operator(name: str, data: st.DataObject) -> None:
    operator = data.draw(operators(name))
    if isinstance(operator, ProductOperator):  # those with post-ops are not compared
        operator = replace(operator, post_ops="")
    if operator.dtype == "int8":
        with pytest.raises(UsageError, match=f"PyTorch has no {name} of int8"):
            torch_call(operator, operator.make_inputs(0), 1)
    elif refusals.torch(operator) is not None:  # of all that is drawn here, for its padding alone
        with pytest.raises(RuntimeError, match="pad"):
            assert_same(operator, seed=1)
    else:
        assert_same(operator, seed=1)


def test_chains_are_not_compared() -> None:
    chain = elementwise(inner=4, post_ops="relu")
    assert refusals.torch(chain) == refusals.numpy(chain) == "not compared with post-ops"
    with pytest.raises(UsageError, match="PyTorch has no operator to compare elementwise with"):
        torch_call(chain, chain.make_inputs(0), 1)


@pytest.mark.parametrize("cell", [lstm(units=3), gru(units=3)], ids=lambda cell: cell.name)
def test_cells_are_not_compared(cell: Operator) -> None:
    reason = "no library has cells alone, to which the products of the inputs are given"
    assert refusals.torch(cell) == refusals.numpy(cell) == refusals.onednn(cell) == reason
    with pytest.raises(UsageError, match=f"PyTorch has no operator to compare {cell.name} with"):
        torch_call(cell, cell.make_inputs(0), 1)


@pytest.mark.filterwarnings("ignore:TF32 acceleration")
def test_a_layer_of_a_network() -> None:
    assert_same(workload("resnet18.C8"))


def test_inputs_are_converted_once() -> None:
    """The call works on the same tensors each time, and leaves them as they were."""
    operator = matmul(m=4, n=4, k=4, bias=True, relu=True, residual=True)
    inputs = operator.make_inputs(0)
    call = torch_call(operator, inputs, 1)
    first, second = call().numpy().copy(), call().numpy()
    np.testing.assert_array_equal(first, second)
    for before, after in zip(operator.make_inputs(0), inputs, strict=True):
        np.testing.assert_array_equal(before, after)
