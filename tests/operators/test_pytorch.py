"""Every operator's reference against PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.operators.strategies import NAMES, operators
from tests.properties import examples
from tunesmith.operators import (
    AdaptivePool2d,
    BatchMatmul,
    Conv2d,
    Conv2dTranspose,
    DepthwiseConv2d,
    Elementwise,
    Gru,
    LayerNorm,
    Lstm,
    Operator,
    Pool2d,
    ProductOperator,
    sides,
    workload,
)

torch = pytest.importorskip("torch", reason="PyTorch is what the references are compared with")
functional = torch.nn.functional


@pytest.fixture(autouse=True, scope="module")
def without_onednn() -> Iterator[None]:
    """PyTorch 2.13 crashes in oneDNN on some dilated depthwise layers of width 1."""
    with torch.backends.mkldnn.flags(enabled=False):
        yield


def _channels_first(value: Any, op: Any) -> Any:
    return value.permute(0, 3, 1, 2) if op.layout == "NHWC" else value


def _channels_as_given(value: Any, op: Any) -> Any:
    return value.permute(0, 2, 3, 1) if op.layout == "NHWC" else value


def _batch_matmul(op: BatchMatmul, data: Any, weight: Any) -> Any:
    left = data.transpose(1, 2) if op.transpose == "TN" else data
    right = weight.transpose(1, 2) if op.transpose == "NT" else weight
    return torch.bmm(left, right)


def _padded(images: Any, op: Conv2d | DepthwiseConv2d | Pool2d, value: float = 0) -> Any:
    """The images (n, c, h, w) with their padding."""
    (top, bottom), (left, right) = sides(op.padding)
    return functional.pad(images, (left, right, top, bottom), value=value)


def _conv2d(op: Conv2d, data: Any, weight: Any) -> Any:
    oihw = weight.permute(3, 2, 0, 1) if op.layout == "NHWC" else weight
    result = functional.conv2d(
        _padded(_channels_first(data, op), op),
        oihw,
        stride=op.stride,
        dilation=op.dilation,
        groups=op.groups,
    )
    return _channels_as_given(result, op)


def _depthwise_conv2d(op: DepthwiseConv2d, data: Any, weight: Any) -> Any:
    channels_first = weight.permute(2, 3, 0, 1) if op.layout == "NHWC" else weight
    result = functional.conv2d(
        _padded(_channels_first(data, op), op),
        channels_first.reshape(op.c * op.multiplier, 1, *op.kernel),
        stride=op.stride,
        dilation=op.dilation,
        groups=op.c,
    )
    return _channels_as_given(result, op)


def _conv2d_transpose(op: Conv2dTranspose, data: Any, weight: Any) -> Any:
    return functional.conv_transpose2d(
        data, weight, stride=op.stride, padding=op.padding, output_padding=op.output_padding
    )


def _pool2d(op: Pool2d, data: Any) -> Any:
    """PyTorch has padding only if it is alike on opposite sides and at most half of the kernel."""
    images = _channels_first(data, op)
    geometry: dict[str, Any] = {"kernel_size": op.kernel, "stride": op.stride}
    known = len(op.padding) == 2 and all(
        2 * p <= k for p, k in zip(op.padding, op.kernel, strict=True)
    )
    if known:
        geometry |= {"padding": op.padding, "ceil_mode": op.ceil_mode}
    elif op.ceil_mode:
        assume(False)
    if op.kind == "max":
        given_images = images if known else _padded(images, op, -torch.inf)
        return _channels_as_given(functional.max_pool2d(given_images, **geometry), op)
    if known:
        result = functional.avg_pool2d(images, **geometry, count_include_pad=op.count_include_pad)
        return _channels_as_given(result, op)
    sums = functional.avg_pool2d(_padded(images, op), **geometry, divisor_override=1)
    inside = torch.ones_like(images)
    taps = functional.avg_pool2d(
        _padded(inside, op, float(op.count_include_pad)), **geometry, divisor_override=1
    )
    return _channels_as_given(sums / taps, op)


def _adaptive_pool2d(op: AdaptivePool2d, data: Any) -> Any:
    mean = op.kind == "avg"
    pool = functional.adaptive_avg_pool2d if mean else functional.adaptive_max_pool2d
    return pool(data, op.output_size)


_REDUCTIONS = {"mean": torch.mean, "sum": torch.sum, "max": torch.amax, "min": torch.amin}


def _layer_norm(op: LayerNorm, data: Any, gamma: Any, beta: Any) -> Any:
    return functional.layer_norm(data, (op.n,), gamma, beta, op.eps)


_POST_OPS: dict[str, Callable[..., Any]] = {
    "relu": torch.relu,
    "clip": lambda x: torch.clamp(x, -0.5, 1),
    "leaky_relu": functional.leaky_relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "silu": functional.silu,
    "hard_sigmoid": functional.hardsigmoid,
    "hard_swish": functional.hardswish,
    "affine": lambda x: x * -0.5 + 2,
    "exp": torch.exp,
    "negative": torch.neg,
    "abs": torch.abs,
}
_POST_OPS_OF_TWO: dict[str, Callable[..., Any]] = {
    "scale": torch.mul,
    "shift": torch.add,
    "multiply": torch.mul,
    "add": torch.add,
    "subtract": torch.sub,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
}


def _after(post_ops: str, data: Any, operands: list[Any]) -> Any:
    """What post-ops with the numbers of the strategies make of data."""
    left = list(operands)
    for post_op in post_ops.split("+") if post_ops else ():
        name = post_op.partition(":")[0]
        if name in _POST_OPS:
            data = _POST_OPS[name](data)
        else:
            data = _POST_OPS_OF_TWO[name](data, left.pop(0))
    return data


def _elementwise(op: Elementwise, data: Any, *operands: Any) -> Any:
    shaped = [operand.reshape(-1, 1) if operand.ndim == 1 else operand for operand in operands]
    return _after(op.post_ops, data, shaped)


def _lstm(op: Lstm, hidden: Any, weight: Any, gates: Any, cell: Any) -> Any:
    """PyTorch's cell multiplies its inputs by weights: by an identity, here."""
    identity = torch.eye(op.gate_rows, dtype=gates.dtype)
    found = torch.empty(op.result.shape, dtype=gates.dtype)
    for step in op.order:
        hidden, cell = torch.lstm_cell(gates[step], (hidden, cell), identity, weight)
        found[step] = hidden
    found[op.steps] = cell
    return found


def _gru(op: Gru, hidden: Any, weight: Any, gates: Any, bias: Any) -> Any:
    identity = torch.eye(op.gate_rows, dtype=gates.dtype)
    biases = torch.zeros(op.gate_rows, dtype=gates.dtype), torch.cat([0 * bias, 0 * bias, bias])
    found = torch.empty(op.result.shape, dtype=gates.dtype)
    for step in op.order:
        hidden = torch.gru_cell(gates[step], hidden, identity, weight, *biases)
        found[step] = hidden
    return found


_TORCH: dict[str, Callable[..., Any]] = {
    "matmul": lambda op, data, weight: data @ weight,
    "batch_matmul": _batch_matmul,
    "dense": lambda op, data, weight: functional.linear(data, weight),
    "conv2d": _conv2d,
    "depthwise_conv2d": _depthwise_conv2d,
    "conv2d_transpose": _conv2d_transpose,
    "pool2d": _pool2d,
    "adaptive_pool2d": _adaptive_pool2d,
    "reduce": lambda op, data: _REDUCTIONS[op.kind](data, dim=1),
    "softmax": lambda op, data: torch.softmax(data, dim=1),
    "layer_norm": _layer_norm,
    "elementwise": _elementwise,
    "embedding": lambda _, indices, table: functional.embedding(indices.long(), table),
    "lstm": _lstm,
    "gru": _gru,
}


def _epilogue(op: ProductOperator, products: Any, extra: list[Any]) -> Any:
    result = products
    channels = [1] * result.ndim
    channels[op.channel_axis] = -1
    left = [each.reshape(channels) if each.ndim == 1 else each for each in extra]
    if op.bias:
        result = result + left.pop(0)
    if op.residual:
        result = result + left.pop(0)
    return _after(op.post_ops, torch.relu(result) if op.relu else result, left)


def _torch_result(op: Operator, inputs: list[Any]) -> np.ndarray[Any, Any]:
    """PyTorch's result: float32 in float32, other types exactly converted to float64."""
    working = np.float32 if op.dtype == "float32" else np.float64
    tensors = [torch.from_numpy(np.ascontiguousarray(x.astype(working))) for x in inputs]
    if not isinstance(op, ProductOperator):
        result = _TORCH[op.name](op, *tensors)
    else:
        result = _epilogue(op, _TORCH[op.name](op, *tensors[:2]), tensors[2:])
    array: np.ndarray[Any, Any] = result.numpy()
    return array


def _assert_agrees(op: Operator, seed: int) -> None:
    inputs = op.make_inputs(seed)
    expected = _torch_result(op, inputs)
    result = op.reference(*inputs)
    assert result.shape == op.result.shape == expected.shape
    assert str(result.dtype) == op.result.dtype
    relative, absolute = op.tolerance
    np.testing.assert_allclose(result.astype(np.float64), expected, rtol=relative, atol=absolute)


@pytest.mark.parametrize("name", NAMES)
@settings(examples(25), suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data(), seed=st.integers(0, 1000))
def test_reference_agrees_with_pytorch(name: str, data: st.DataObject, seed: int) -> None:
    _assert_agrees(data.draw(operators(name)), seed)


@pytest.mark.parametrize(
    "name", ["resnet18.C1", "resnet18.C8", "resnet18.C12", "mobilenet.dw6", "dense.64x768x3072"]
)
def test_reference_agrees_with_pytorch_on_real_layers(name: str) -> None:
    _assert_agrees(workload(name), seed=0)
