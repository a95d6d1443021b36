"""Every operator's TE definition: its stages, and its results, compiled without a schedule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tunesmith.operators import (
    Operator,
    adaptive_pool2d,
    batch_matmul,
    conv2d,
    conv2d_transpose,
    dense,
    depthwise_conv2d,
    elementwise,
    embedding,
    gru,
    layer_norm,
    lstm,
    matmul,
    pool2d,
    reduce,
    softmax,
)

OPERATORS: tuple[Operator, ...] = (
    matmul(m=1, n=1, k=1),
    matmul(m=7, n=13, k=5, bias=True, relu=True, residual=True),
    matmul(m=7, n=13, k=5, dtype="float16"),
    matmul(m=7, n=13, k=5, dtype="bfloat16", bias=True, relu=True),
    matmul(m=7, n=13, k=5, dtype="int8", bias=True, relu=True),
    batch_matmul(b=3, m=7, n=2, k=5, bias=True),
    batch_matmul(b=3, m=7, n=2, k=5, transpose="NT", residual=True),
    batch_matmul(b=3, m=7, n=2, k=5, transpose="TN", dtype="int8"),
    dense(n=13, k=7),
    dense(m=3, n=13, k=7, bias=True, dtype="float64"),
    conv2d(ci=3, h=13, w=7, co=5, kernel=1),
    conv2d(ci=3, h=13, w=7, co=5, kernel=3, padding=1, stride=2, relu=True),
    conv2d(n=2, ci=6, h=9, w=9, co=4, kernel=(3, 2), dilation=2, groups=2, bias=True),
    conv2d(ci=6, h=7, w=9, co=4, kernel=3, padding=(0, 1), layout="NHWC", bias=True),
    conv2d(ci=6, h=7, w=9, co=4, kernel=3, padding=1, groups=2, layout="NHWC", dtype="int8"),
    conv2d(ci=6, h=7, w=9, co=4, kernel=3, stride=2, padding=(0, 2, 1, 0)),
    depthwise_conv2d(c=5, h=7, w=9, kernel=3, padding=1, bias=True, relu=True),
    depthwise_conv2d(c=5, h=7, w=9, kernel=3, stride=2, padding=(1, 0, 0, 1)),
    depthwise_conv2d(c=3, h=7, w=9, kernel=3, multiplier=2, stride=2, dilation=(2, 1)),
    depthwise_conv2d(c=3, h=7, w=9, kernel=3, multiplier=2, layout="NHWC", residual=True),
    conv2d_transpose(ci=3, h=5, w=7, co=4, kernel=3, stride=2, padding=1, output_padding=1),
    conv2d_transpose(ci=3, h=5, w=7, co=4, kernel=(3, 2), stride=(1, 3), padding=2, bias=True),
    conv2d_transpose(ci=3, h=4, w=4, co=2, kernel=1, dtype="int8"),
    pool2d(c=3, h=9, w=7, kernel=3, stride=2, padding=1),
    pool2d(c=3, h=9, w=7, kernel=3, stride=2, padding=1, dtype="bfloat16", layout="NHWC"),
    pool2d(c=3, h=9, w=7, kernel=3, stride=2, padding=1, kind="avg"),
    pool2d(c=3, h=9, w=7, kernel=3, padding=1, kind="avg", count_include_pad=False),
    pool2d(c=3, h=9, w=8, kernel=3, stride=2, padding=1, kind="avg", ceil_mode=True),
    pool2d(c=3, h=9, w=8, kernel=3, stride=2, padding=(0, 0, 1, 2)),
    pool2d(c=3, h=9, w=7, kernel=(2, 3), kind="avg", layout="NHWC", dtype="float16"),
    adaptive_pool2d(c=3, h=9, w=7, output_size=(4, 3)),
    adaptive_pool2d(c=3, h=3, w=7, output_size=(5, 1), kind="max", dtype="bfloat16"),
    reduce(outer=3, n=7, inner=5),
    reduce(n=7, kind="sum", dtype="float16"),
    reduce(outer=3, n=7, kind="min"),
    softmax(m=5, n=1),
    softmax(m=3, n=130),
    softmax(m=3, n=130, dtype="bfloat16"),
    layer_norm(m=5, n=1),
    layer_norm(m=3, n=130),
    layer_norm(m=3, n=130, dtype="float16"),
    elementwise(n=2, c=3, inner=7, post_ops="scale+tanh+add+shift"),
    elementwise(inner=37, post_ops="divide+power:0.5+exp+minimum", dtype="float64"),
    elementwise(n=3, c=5, inner=1, post_ops="negative+gelu+multiply", dtype="bfloat16"),
    embedding(n=7, rows=5, width=3),
    embedding(n=7, rows=5, width=3, dtype="int8", index_dtype="int32"),
    lstm(units=1),
    lstm(steps=3, b=2, units=13, reverse=True),
    lstm(steps=2, units=7, dtype="bfloat16"),
    gru(b=3, units=7),
    gru(steps=4, units=5, reverse=True, dtype="float64"),
)


def _run_unscheduled(op: Operator, inputs: list[Any]) -> Any:
    import tvm
    from tvm import te

    module = tvm.IRModule({"main": te.create_prim_func(op.compute())})
    library = tvm.compile(module, target={"kind": "llvm"})
    output = tvm.runtime.tensor(np.zeros_like(op.reference(*inputs)))
    library["main"](*[tvm.runtime.tensor(value) for value in inputs], output)
    return output.numpy()


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.key)
def test_definition_computes_the_reference(op: Operator) -> None:
    inputs = op.make_inputs(seed=1)
    relative, absolute = op.tolerance
    np.testing.assert_allclose(
        _run_unscheduled(op, inputs).astype(np.float64),
        op.reference(*inputs).astype(np.float64),
        rtol=relative,
        atol=absolute,
    )


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.key)
def test_definition_takes_the_arguments_and_gives_the_result(op: Operator) -> None:
    *inputs, output = op.compute()
    found = [(t.op.name, tuple(map(int, t.shape)), str(t.dtype)) for t in inputs]
    assert found == [(a.name, a.shape, a.dtype) for a in op.arguments]
    assert tuple(map(int, output.shape)) == op.result.shape
    assert str(output.dtype) == op.result.dtype


def _stages(op: Operator) -> list[str]:
    """The names of the computed stages, each after those it reads."""
    *inputs, output = op.compute()
    given = {tensor.op.name for tensor in inputs}
    order: list[str] = []

    def visit(tensor: Any) -> None:
        for source in tensor.op.input_tensors:
            visit(source)
        if tensor.op.name not in given and tensor.op.name not in order:
            order.append(tensor.op.name)

    visit(output)
    return order


@pytest.mark.parametrize(
    ("op", "stages"),
    [
        (matmul(m=2, n=2, k=2), ["matmul"]),
        (matmul(m=2, n=2, k=2, relu=True), ["matmul", "epilogue"]),
        (matmul(m=2, n=2, k=2, dtype="float16"), ["matmul", "epilogue"]),
        (batch_matmul(b=2, m=2, n=2, k=2, bias=True, relu=True), ["batch_matmul", "epilogue"]),
        (dense(n=2, k=2, dtype="int8"), ["dense"]),
        (conv2d(ci=2, h=4, w=4, co=2, kernel=3), ["conv2d"]),
        (conv2d(ci=2, h=4, w=4, co=2, kernel=3, padding=(0, 1)), ["pad", "conv2d"]),
        (
            conv2d(ci=2, h=4, w=4, co=2, kernel=3, padding=1, bias=True, residual=True),
            ["pad", "conv2d", "epilogue"],
        ),
        (depthwise_conv2d(c=2, h=4, w=4, kernel=3, padding=1), ["pad", "depthwise_conv2d"]),
        (conv2d_transpose(ci=2, h=4, w=4, co=2, kernel=3), ["dilate", "conv2d_transpose"]),
        (pool2d(c=2, h=4, w=4, kernel=2), ["pool2d"]),
        (pool2d(c=2, h=4, w=4, kernel=2, padding=1, kind="avg"), ["pad", "pool2d", "average"]),
        (adaptive_pool2d(c=2, h=4, w=4, output_size=3), ["pad", "adaptive_pool2d", "average"]),
        (reduce(n=4), ["reduce", "mean"]),
        (softmax(m=2, n=2), ["max", "exp", "sum", "normalise"]),
        (elementwise(inner=2, post_ops="relu+add"), ["epilogue"]),
        (layer_norm(m=2, n=2), ["sum", "mean", "squares", "variance", "normalise"]),
        (embedding(n=2, rows=2, width=2), ["embedding"]),
        (
            lstm(steps=2, units=2, reverse=True),
            ["lstm1", "state0_1", "lstm0", "state1_1", "state0_0", "state1_0", "states"],
        ),
        (gru(units=2), ["gru0", "state0_0", "states"]),
    ],
    ids=lambda value: value.key if isinstance(value, Operator) else "",
)
def test_definition_has_these_stages(op: Operator, stages: list[str]) -> None:
    assert _stages(op) == stages


def test_epilogue_is_elementwise_and_the_reduction_has_clean_axes() -> None:
    op = conv2d(ci=4, h=8, w=8, co=6, kernel=3, padding=1, bias=True, relu=True, residual=True)
    output = op.compute()[-1]
    assert len(output.op.reduce_axis) == 0
    (main,) = [t for t in output.op.input_tensors if t.op.name == "conv2d"]
    assert [(axis.var.name, int(axis.dom.extent)) for axis in main.op.reduce_axis] == [
        ("rc", 4),
        ("ry", 3),
        ("rx", 3),
    ]
    assert [axis.var.name for axis in main.op.axis] == ["n", "f", "y", "x"]
