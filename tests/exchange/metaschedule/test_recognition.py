"""Which operator a function is, whoever wrote it."""

from __future__ import annotations

from typing import Any

import pytest

from tunesmith.exchange.metaschedule.definitions import definitions
from tunesmith.exchange.metaschedule.recognition import recognized
from tunesmith.operators import (
    Operator,
    batch_matmul,
    conv2d,
    dense,
    depthwise_conv2d,
    matmul,
    pool2d,
    softmax,
)

CONV: dict[str, Any] = {"ci": 8, "h": 12, "w": 9, "co": 16, "kernel": (3, 2)}


@pytest.mark.parametrize(
    "operator",
    [
        matmul(m=16, n=16, k=16),
        matmul(m=16, n=32, k=8, bias=True, relu=True, residual=True),
        matmul(m=16, n=32, k=8, constant_weights=True, bias=True),
        matmul(m=16, n=32, k=8, dtype="float16"),
        matmul(m=16, n=32, k=8, dtype="int8"),
        dense(m=16, n=16, k=16, post_ops="gelu"),
        batch_matmul(b=2, m=8, n=8, k=8),
        batch_matmul(b=2, m=8, n=8, k=8, transpose="NT"),
        batch_matmul(b=2, m=8, n=16, k=4, transpose="TN"),
        conv2d(**CONV),
        conv2d(**CONV, stride=2, padding=1, bias=True, relu=True),
        conv2d(**CONV, dilation=(2, 1), padding=(1, 0), groups=4, residual=True),
        conv2d(**CONV, padding=(0, 1, 1, 2), layout="NHWC", post_ops="clip:0:6"),
        conv2d(**{**CONV, "kernel": 1}, stride=2),
        depthwise_conv2d(c=8, h=9, w=9, kernel=3, padding=1, post_ops="silu"),
        depthwise_conv2d(c=8, h=9, w=9, kernel=3, multiplier=2, layout="NHWC"),
    ],
    ids=lambda operator: str(operator.label),
)
def test_each_definition_is_recognized(operator: Operator) -> None:
    for definition in definitions(operator):
        assert recognized(definition) == operator


def test_another_function_with_the_same_arguments_is_not() -> None:
    from tvm import IRModule, te

    def module(power: int) -> Any:
        data, weight = (te.placeholder((8, 8), name=name) for name in ("data", "weight"))
        k = te.reduce_axis((0, 8), name="k")
        sums = te.compute(
            (8, 8), lambda i, j: te.sum(data[i, k] * weight[k, j] * power, axis=k), name="matmul"
        )
        return IRModule({"main": te.create_prim_func([data, weight, sums])})

    assert recognized(module(1)) == matmul(m=8, n=8, k=8)
    assert recognized(module(2)) is None


def test_other_operators_are_not() -> None:
    for operator in (softmax(m=4, n=8), pool2d(c=4, h=8, w=8, kernel=2)):
        (definition,) = definitions(operator)
        assert recognized(definition) is None
