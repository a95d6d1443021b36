"""What all operators share: FLOPs, keys, JSON, inputs, references' checks and tolerances."""

from __future__ import annotations

import dataclasses
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.strategies import any_operator
from tunesmith.errors import UsageError
from tunesmith.operators import (
    Argument,
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
    operator_from_json,
    pool2d,
    reduce,
    softmax,
    workload,
)


@pytest.mark.parametrize(
    ("op", "flops"),
    [
        (matmul(m=2, n=3, k=4), 2 * 24),
        (matmul(m=2, n=3, k=4, bias=True), 2 * 24 + 6),
        (matmul(m=2, n=3, k=4, bias=True, relu=True, residual=True), 2 * 24 + 18),
        (batch_matmul(b=5, m=2, n=3, k=4, transpose="TN"), 2 * 120),
        (dense(m=2, n=3, k=4, relu=True), 2 * 24 + 6),
        # 112 x 112 windows, 64 channels, 3 x 7 x 7 products each
        (workload("resnet18.C1"), 2 * 12544 * 64 * 147),
        (workload("resnet18.C2"), 231_211_008),
        # 5 x 5 windows of 2 x 2 taps over the 2 channels of a group, 6 channels
        (conv2d(ci=4, h=6, w=6, co=6, kernel=2, groups=2), 2 * 25 * 6 * 8),
        # 3 x 3 windows; taps on padding count
        (depthwise_conv2d(c=2, h=3, w=3, kernel=3, padding=1, multiplier=2), 2 * 9 * 4 * 9),
        # 9 input values, 2 channels in, 4 out, 3 x 3 taps; inserted zeros do not count
        (conv2d_transpose(ci=2, h=3, w=3, co=4, kernel=3, stride=2), 2 * 9 * 2 * 4 * 9),
        (pool2d(c=2, h=4, w=4, kernel=2, stride=2), 8 * 4),
        (pool2d(c=2, h=4, w=4, kernel=2, stride=2, kind="avg"), 8 * 5),
        # windows of 2, 3 and 2 rows and of 4 columns
        (adaptive_pool2d(c=2, h=5, w=4, output_size=(3, 1), kind="max"), 2 * 7 * 4),
        (adaptive_pool2d(c=2, h=5, w=4, output_size=(3, 1)), 2 * 7 * 4 + 6),
        (reduce(outer=2, n=5, inner=3), 2 * 5 * 3 + 6),
        (softmax(m=3, n=4), 5 * 12),
        (layer_norm(m=3, n=4), 8 * 12),
        (elementwise(n=2, c=3, inner=4, post_ops="scale+clip:0:1"), 3 * 24),
        (embedding(n=3, rows=100, width=4), 12),
        # Twice 3 x 2 units, each 4 (or 3) sums of 2 products, and 28 (or 20) operations
        (lstm(steps=2, b=3, units=2), 2 * 6 * (2 * 4 * 2 + 28)),
        (gru(steps=2, b=3, units=2), 2 * 6 * (2 * 3 * 2 + 20)),
    ],
    ids=lambda value: value.key if isinstance(value, Operator) else str(value),
)
def test_flops_follow_the_convention(op: Operator, flops: int) -> None:
    assert op.flops == flops


@pytest.mark.parametrize(
    ("op", "key"),
    [
        (
            conv2d(ci=128, h=28, w=28, co=256, kernel=1, stride=2),
            "conv2d(n=1,ci=128,h=28,w=28,co=256,kernel=1x1,stride=2x2,padding=0x0,dilation=1x1,"
            "groups=1,layout=NCHW,bias=false,relu=false,residual=false,dtype=float32)",
        ),
        (
            batch_matmul(b=2, m=3, n=4, k=5, transpose="NT", relu=True, dtype="int8"),
            "batch_matmul(b=2,m=3,n=4,k=5,transpose=NT,"
            "bias=false,relu=true,residual=false,dtype=int8)",
        ),
        (layer_norm(m=3, n=4), "layer_norm(m=3,n=4,eps=1e-05,dtype=float32)"),
        (
            elementwise(c=3, inner=4, post_ops="add+relu"),
            "elementwise(n=1,c=3,inner=4,post_ops=add+relu,dtype=float32)",
        ),
        (
            embedding(n=3, rows=9, width=4),
            "embedding(n=3,rows=9,width=4,index_dtype=int64,dtype=float32)",
        ),
        (lstm(units=9), "lstm(steps=1,b=1,units=9,reverse=false,dtype=float32)"),
        # An option that came later is in no older key.
        (
            dense(m=2, n=3, k=4, constant_weights=True),
            "dense(m=2,n=3,k=4,bias=false,relu=false,residual=false,constant_weights=true,"
            "dtype=float32)",
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Operator) else "",
)
def test_keys_never_change(op: Operator, key: str) -> None:
    """Stored records are found by these texts."""
    assert op.key == key
    assert repr(op) == key


def test_json_from_before_an_option_is_read() -> None:
    described = matmul(m=2, n=3, k=4).to_json()
    del described["options"]["constant_weights"]
    assert operator_from_json(described) == matmul(m=2, n=3, k=4)


def test_constant_weights_change_neither_arguments_nor_results() -> None:
    plain = matmul(m=2, n=3, k=4, bias=True)
    constant = dataclasses.replace(plain, constant_weights=True)
    assert (constant.arguments, constant.result) == (plain.arguments, plain.result)
    assert (constant.flops, constant.tolerance) == (plain.flops, plain.tolerance)
    for seed in range(2):
        inputs = constant.make_inputs(seed)
        np.testing.assert_array_equal(constant.reference(*inputs), plain.reference(*inputs))


def test_a_pair_may_be_given_as_one_number() -> None:
    one = conv2d(ci=3, h=8, w=8, co=4, kernel=3, padding=1)
    two = conv2d(ci=3, h=8, w=8, co=4, kernel=(3, 3), padding=(1, 1))
    assert one == two
    assert hash(one) == hash(two)
    assert one.kernel == (3, 3)
    assert one.stride == (1, 1)


def test_padding_that_is_alike_on_opposite_sides_is_a_pair() -> None:
    four = conv2d(ci=3, h=8, w=8, co=4, kernel=3, padding=(1, 2, 1, 2))
    assert four == conv2d(ci=3, h=8, w=8, co=4, kernel=3, padding=(1, 2))
    assert four.padding == (1, 2)
    apart = conv2d(ci=3, h=8, w=8, co=4, kernel=3, padding=(0, 0, 1, 2))
    assert apart.padding == (0, 0, 1, 2)
    assert apart.output_image == (7, 8)
    assert ",padding=0x0x1x2," in apart.key


def test_ceil_mode_keeps_windows_that_begin_in_the_image() -> None:
    """Of 8 columns those from 6 on; one that would begin at 8 is dropped, as PyTorch does."""
    fitting = pool2d(c=2, h=9, w=8, kernel=3, stride=2)
    assert "ceil_mode" not in fitting.key
    assert fitting.output_image == (4, 3)
    kept = pool2d(c=2, h=9, w=8, kernel=3, stride=2, ceil_mode=True)
    assert kept.key == fitting.key.replace(",dtype", ",ceil_mode=true,dtype")
    assert kept.output_image == (4, 4)
    assert pool2d(c=2, h=5, w=7, kernel=2, stride=2, padding=1, ceil_mode=True).output_image == (
        3,
        4,
    )


def test_sizes_may_be_numpy_integers() -> None:
    op = matmul(m=int(np.int64(3)), n=np.int32(4), k=np.uint8(5))  # type: ignore[arg-type]
    assert op == matmul(m=3, n=4, k=5)
    assert json.dumps(op.to_json())


def test_operators_are_immutable() -> None:
    op = conv2d(ci=3, h=8, w=8, co=4, kernel=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        op.kernel = (1, 1)  # type: ignore[misc]


@given(op=any_operator)
def test_json_and_pickle_round_trip(op: Operator) -> None:
    again = operator_from_json(json.loads(json.dumps(op.to_json())))
    assert again == op
    assert again.key == op.key
    assert pickle.loads(pickle.dumps(op)) == op


def test_an_operator_can_be_pickled_whose_epilogue_was_read() -> None:
    op = dense(n=3, k=4, post_ops="silu")
    assert op.epilogue.post_ops
    again = pickle.loads(pickle.dumps(op))
    assert again == op
    assert again.epilogue == op.epilogue


@given(one=any_operator, other=any_operator)
def test_keys_tell_operators_apart(one: Operator, other: Operator) -> None:
    assert (one.key == other.key) == (one == other)


@given(op=any_operator, seed=st.integers(0, 100))
def test_inputs_match_the_arguments_and_repeat(op: Operator, seed: int) -> None:
    inputs = op.make_inputs(seed)
    found = [(x.shape, str(x.dtype)) for x in inputs]
    assert found == [(a.shape, a.dtype) for a in op.arguments]
    for first, second in zip(inputs, op.make_inputs(seed), strict=True):
        np.testing.assert_array_equal(first, second)


def test_inputs_fill_their_range_and_differ_by_seed() -> None:
    data = matmul(m=200, n=1, k=200).make_inputs(seed=0)[0]
    assert -1 <= data.min() < -0.99
    assert 0.99 < data.max() < 1
    assert not np.array_equal(data, matmul(m=200, n=1, k=200).make_inputs(seed=1)[0])
    small = matmul(m=200, n=1, k=200, dtype="int8").make_inputs(seed=0)[0]
    assert (small.min(), small.max()) == (-128, 127)


def test_arguments_come_in_call_order() -> None:
    op = conv2d(ci=3, h=8, w=6, co=4, kernel=3, bias=True, residual=True, dtype="int8")
    assert op.arguments == (
        Argument("data", (1, 3, 8, 6), "int8"),
        Argument("weight", (4, 3, 3, 3), "int8"),
        Argument("bias", (4,), "int32"),
        Argument("residual", (1, 4, 6, 4), "int32"),
    )
    assert op.result == Argument("output", (1, 4, 6, 4), "int32")


def test_elementwise_has_an_argument_for_each_operand() -> None:
    op = elementwise(n=2, c=3, inner=4, post_ops="scale+relu+add+scale", dtype="float16")
    assert [(argument.name, argument.shape) for argument in op.arguments] == [
        ("data", (2, 3, 4)),
        ("scale", (3,)),
        ("addend", (2, 3, 4)),
        ("scale2", (3,)),
    ]
    assert op.result == Argument("output", (2, 3, 4), "float16")


def test_values_are_positive_for_post_ops_that_need_it() -> None:
    for array in elementwise(c=3, inner=400, post_ops="scale+rsqrt").make_inputs(0):
        assert 0.5 <= array.min() < array.max() <= 1.5
    (signed,) = elementwise(inner=400, post_ops="exp").make_inputs(0)
    assert signed.min() < -0.9


@pytest.mark.parametrize(
    ("inputs", "complaint"),
    [
        ([np.zeros((2, 4), "float32")], "takes 2 inputs (data, weight): 1"),
        ([np.zeros((2, 4), "float32"), np.zeros((3, 4), "float32")], "shape (4, 3)"),
        ([np.zeros((2, 4)), np.zeros((4, 3), "float32")], "data must be float32"),
    ],
    ids=["count", "shape", "type"],
)
def test_reference_refuses_other_inputs(inputs: list[Any], complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        matmul(m=2, n=3, k=4).reference(*inputs)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("terms", [1, 16, 4608, 50_000])
def test_tolerance_accepts_plain_loops_and_refuses_a_lost_product(terms: int) -> None:
    """A float32 sum in the most careless order passes; one typical product less does not."""
    op = matmul(m=8, n=8, k=terms)
    data, weight = op.make_inputs(seed=3)
    expected = op.reference(data, weight)
    relative, absolute = op.tolerance
    careless = np.empty_like(expected)
    for i in range(8):
        careless[i] = np.cumsum(data[i, :, None] * weight, axis=0, dtype=np.float32)[-1]
    assert np.allclose(careless, expected, rtol=relative, atol=absolute)
    lost = np.sort(np.abs(data[0] * weight[:, 0]))[terms // 2]
    damaged = careless.copy()
    damaged[0, 0] -= lost
    assert not np.allclose(damaged, expected, rtol=relative, atol=absolute)


@pytest.mark.parametrize("steps", [1, 20])
@pytest.mark.parametrize("make", [lstm, gru])
def test_tolerance_of_cells_refuses_a_lost_product(make: Any, steps: int) -> None:
    op = make(steps=steps, units=100)
    hidden, weight, *others = op.make_inputs(seed=0)
    relative, absolute = op.tolerance
    expected = op.reference(hidden, weight, *others)
    damaged = weight.copy()
    row = int(np.argmax(np.abs(weight[:, 7])))  # of the typical size: at most 1 / sqrt(units)
    damaged[row, 7] = 0
    found = op.reference(hidden, damaged, *others)
    assert np.allclose(expected + absolute / 2, expected, rtol=relative, atol=absolute)
    assert not np.allclose(found, expected, rtol=relative, atol=absolute)


def test_tolerance_of_integers_and_of_maxima_is_zero() -> None:
    assert matmul(m=2, n=2, k=2, dtype="int8").tolerance == (0.0, 0.0)
    assert pool2d(c=2, h=4, w=4, kernel=2).tolerance == (0.0, 0.0)


@pytest.mark.parametrize("kind", ["mean", "sum"])
def test_tolerance_of_reductions_refuses_a_lost_term(kind: str) -> None:
    op = reduce(n=1000, inner=4, kind=kind)
    (data,) = op.make_inputs(seed=0)
    relative, absolute = op.tolerance
    expected = op.reference(data)
    total = np.cumsum(data, axis=1, dtype=np.float32)[:, -1] / (1000 if kind == "mean" else 1)
    assert np.allclose(total, expected, rtol=relative, atol=absolute)
    lost = np.sort(np.abs(data[0, :, 0]))[500] / (1000 if kind == "mean" else 1)
    assert not np.allclose(total - lost, expected, rtol=relative, atol=absolute)


def test_tolerance_of_softmax_refuses_a_lost_term() -> None:
    op = softmax(m=4, n=1000)
    (data,) = op.make_inputs(seed=0)
    relative, absolute = op.tolerance
    powers = np.exp(data - data.max(axis=1, keepdims=True))
    whole = powers / powers.sum(axis=1, keepdims=True)
    short = powers / powers[:, 1:].sum(axis=1, keepdims=True)
    assert np.allclose(whole, op.reference(data), rtol=relative, atol=absolute)
    assert not np.allclose(short, op.reference(data), rtol=relative, atol=absolute)


def test_integer_sums_are_exact_at_the_ends_of_the_range() -> None:
    op = matmul(m=1, n=1, k=100_000, dtype="int8")
    low = np.full((1, 100_000), -128, "int8")
    assert op.reference(low, low.T).item() == 100_000 * 128 * 128


def test_relu_comes_after_bias_and_residual() -> None:
    op = matmul(m=1, n=2, k=1, bias=True, relu=True, residual=True)
    inputs = ([[2.0]], [[1.0, 1.0]], [-3.0, 1.0], [[0.5, 0.25]])
    result = op.reference(*(np.array(values, "float32") for values in inputs))
    np.testing.assert_array_equal(result, np.array([[0.0, 3.25]], "float32"))


def test_labels_leave_out_what_is_as_usual() -> None:
    op = conv2d(ci=3, h=8, w=8, co=4, kernel=3, padding=1, relu=True)
    assert op.label == "conv2d(ci=3, h=8, w=8, co=4, kernel=3x3, padding=1x1, relu=true)"
