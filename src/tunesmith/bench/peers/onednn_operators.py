"""Our operators by oneDNN, through PyTorch: every entry point that computes them.

PyTorch has several, and which one is fast depends on the operator. ``_convolution_pointwise`` and
``_linear_pointwise``, made for fused programs, take weights as they were laid out;
``mkldnn_convolution`` lays out large ones anew in each call, but alone takes blocked data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tunesmith.bench.peers.torch_operators import own_tensor, tensor_call, use_threads
from tunesmith.bench.timing.fastest import Fastest
from tunesmith.errors import UsageError
from tunesmith.operators import (
    BatchMatmul,
    Conv2d,
    Conv2dTranspose,
    Dense,
    DepthwiseConv2d,
    Matmul,
    Operator,
    Pool2d,
    ProductOperator,
    Softmax,
)

_PIXELS = ((0, 0), (1, 1), (1, 1))
"""Padding, stride and dilation of a convolution that is a matrix product."""


def onednn_call(operator: Operator, inputs: Sequence[Any], cores: int) -> Fastest:
    """Calls on data in plain layout.

    A convolution's result is a tensor in whatever layout oneDNN chooses, with PyTorch's order of
    the axes. Raises ``UsageError`` where PyTorch has no entry point for an operator: for batches of
    transposed matrices, and layer normalisation.
    """
    use_threads(cores)
    if isinstance(operator, Matmul | Dense):
        return Fastest(_linear(operator, *_tensors(operator, inputs)))
    if isinstance(operator, BatchMatmul) and operator.transpose == "NN":
        return Fastest({"grouped convolution": _batched(operator, *_tensors(operator, inputs))})
    if isinstance(operator, Softmax | Pool2d):
        # PyTorch's own function, which for a tensor of oneDNN's is oneDNN's.
        return Fastest({"opaque": tensor_call(operator, [own_tensor(inputs[0]).to_mkldnn()])})
    if not isinstance(operator, Conv2d | Conv2dTranspose | DepthwiseConv2d):
        raise UsageError(f"PyTorch has no entry point to oneDNN for {operator.label}")
    data, weight, bias = _tensors(operator, inputs)
    packed = _packed(operator, weight)
    if isinstance(operator, Conv2dTranspose):
        return Fastest(
            {
                "packed": _transposed(operator, data, packed, bias),
                "opaque": _transposed(operator, data.to_mkldnn(), weight, bias),
            }
        )
    return Fastest(
        {
            "pointwise": _pointwise(operator, data, packed, bias),
            "convolution": _convolution(operator, data, packed, bias),
            "convolution, opaque": _convolution(operator, data.to_mkldnn(), packed, bias),
        }
    )


def onednn_blocked_call(operator: Operator, inputs: Sequence[Any], cores: int) -> Fastest:
    """Calls on data that lies as oneDNN would leave it: blocked, or with the channels last.

    Raises ``UsageError`` for other operators than convolutions and pooling.
    """
    import torch

    use_threads(cores)
    if isinstance(operator, Pool2d):
        return Fastest({"blocked": tensor_call(operator, [_blocked(own_tensor(inputs[0]))])})
    if not isinstance(operator, Conv2d | Conv2dTranspose | DepthwiseConv2d):
        raise UsageError(f"oneDNN has no blocked layout for {operator.name}")
    data, weight, bias = _tensors(operator, inputs)
    last, packed = data.contiguous(memory_format=torch.channels_last), _packed(operator, weight)
    if isinstance(operator, Conv2dTranspose):
        return Fastest(
            {
                "blocked": _transposed(operator, _blocked(data), weight, bias),
                "channels last": _transposed(operator, last, packed, bias),
            }
        )
    return Fastest(
        {
            "blocked": _convolution(operator, _blocked(data), packed, bias),
            "channels last": _pointwise(operator, last, packed, bias),
        }
    )


def _tensors(operator: ProductOperator, inputs: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Data, weights and bias, which is None where the operator has none."""
    if operator.residual:
        raise UsageError("oneDNN is not compared with a residual")
    data, weight, *extra = map(own_tensor, inputs)
    if isinstance(operator, DepthwiseConv2d):
        weight = weight.reshape(-1, 1, *weight.shape[2:])
    return data, weight, extra[0] if operator.bias else None


def _after(operator: ProductOperator) -> str:
    return "relu" if operator.relu else "none"


def _linear(
    operator: Matmul | Dense, data: Any, weight: Any, bias: Any
) -> dict[str, Callable[[], Any]]:
    """Constant weights are laid out, too; all others are taken as they lie."""
    import torch

    def by(rows: Any) -> Callable[[], Any]:
        multiply = torch.ops.mkldnn._linear_pointwise
        return lambda: multiply(data, rows, bias, _after(operator), [], "")

    rows = weight.t() if isinstance(operator, Matmul) else weight
    ways = {"plain": by(rows)}
    if operator.constant_weights:
        ways["packed"] = by(torch.ops.mkldnn._reorder_linear_weight(rows.contiguous(), operator.m))
        ways["transposed"] = by(rows.t().contiguous().t())
    return ways


def _batched(operator: BatchMatmul, left: Any, right: Any, bias: Any) -> Callable[[], Any]:
    """A convolution of one pixel, one group a batch: the left matrices are its weights."""
    import torch

    b, m, k = left.shape
    pixels, weight = right.reshape(1, b * k, 1, -1), left.reshape(b * m, k, 1, 1)
    convolve = torch.ops.mkldnn._convolution_pointwise

    def call() -> Any:
        after = "none" if bias is not None else _after(operator)
        result = convolve(pixels, weight, None, *_PIXELS, b, after, [], "")
        result = result.reshape(operator.output_shape)
        if bias is None:
            return result
        result.add_(bias)
        return torch.relu_(result) if operator.relu else result

    return call


def _pointwise(
    operator: Conv2d | DepthwiseConv2d, data: Any, packed: Any, bias: Any
) -> Callable[[], Any]:
    """With ReLU fused."""
    import torch

    convolve = torch.ops.mkldnn._convolution_pointwise
    window, after = _window(operator), _after(operator)
    return lambda: convolve(data, packed, bias, *window, after, [], "")


def _convolution(
    operator: Conv2d | DepthwiseConv2d, data: Any, packed: Any, bias: Any
) -> Callable[[], Any]:
    """With ReLU in place after it."""
    import torch

    window = _window(operator)
    opaque = bias.to_mkldnn() if bias is not None and data.is_mkldnn else bias
    if operator.relu:
        return lambda: torch.relu_(torch.mkldnn_convolution(data, packed, opaque, *window))
    return lambda: torch.mkldnn_convolution(data, packed, opaque, *window)


def _transposed(operator: Conv2dTranspose, data: Any, weight: Any, bias: Any) -> Callable[[], Any]:
    """With ReLU fused; weights as PyTorch has them are laid out anew in each call."""
    import torch

    convolve = torch.ops.mkldnn._convolution_transpose_pointwise
    window, after = _window(operator), _after(operator)
    opaque = bias.to_mkldnn() if bias is not None and data.is_mkldnn else bias
    return lambda: convolve(data, weight, opaque, *window, after, [], "")


def _window(operator: Conv2d | Conv2dTranspose | DepthwiseConv2d) -> tuple[Any, ...]:
    """Padding, output padding if transposed, stride, dilation and groups, as PyTorch's oneDNN
    functions take them."""
    if isinstance(operator, Conv2dTranspose):
        return operator.padding, operator.output_padding, operator.stride, (1, 1), 1
    return operator.padding, operator.stride, operator.dilation, operator.groups


def _packed(operator: Conv2d | Conv2dTranspose | DepthwiseConv2d, weight: Any) -> Any:
    """The weights as oneDNN wants them for this very operator."""
    import torch

    window, shape = _window(operator), operator.arguments[0].shape
    if isinstance(operator, Conv2dTranspose):
        return torch.ops.mkldnn._reorder_convolution_transpose_weight(weight, *window, shape)
    return torch._C._nn.mkldnn_reorder_conv2d_weight(weight.to_mkldnn(), *window, shape)


def _blocked(data: Any) -> Any:
    """The same values as oneDNN itself lays out a result: that of a convolution which copies."""
    import torch

    channels = data.shape[1]
    copies = torch.eye(channels).reshape(channels, channels, 1, 1).to_mkldnn()
    window = (*_PIXELS, 1)
    packed = torch._C._nn.mkldnn_reorder_conv2d_weight(copies, *window, data.shape)
    return torch.mkldnn_convolution(data.to_mkldnn(), packed, None, *window)
