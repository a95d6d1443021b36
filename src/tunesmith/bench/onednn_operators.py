"""Our operators by oneDNN, through PyTorch, with weights that it laid out beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tunesmith.bench.torch_operators import use_threads
from tunesmith.errors import UsageError
from tunesmith.operators import Conv2d, Dense, DepthwiseConv2d, Operator


def onednn_call(operator: Operator, inputs: Sequence[Any], cores: int) -> Callable[[], Any]:
    """A call on data in plain layout.

    A convolution's result is a tensor in whatever layout oneDNN chooses, with PyTorch's order of
    the axes. Raises ``UsageError`` for other operators than convolutions and dense.
    """
    import torch

    use_threads(cores)
    if not isinstance(operator, Conv2d | Dense | DepthwiseConv2d):
        raise UsageError(f"oneDNN has no constant weights to lay out in {operator.name}")
    data, weight, bias = _tensors(operator, inputs)
    after = "relu" if operator.relu else "none"
    if isinstance(operator, Dense):
        packed = torch.ops.mkldnn._reorder_linear_weight(weight, operator.m)
        return lambda: torch.ops.mkldnn._linear_pointwise(data, packed, bias, after, [], "")
    window = _window(operator)
    packed = _packed(operator, weight)
    if after == "none":
        plain = data.to_mkldnn()
        opaque = None if bias is None else bias.to_mkldnn()
        return lambda: torch.mkldnn_convolution(plain, packed, opaque, *window)
    convolve = torch.ops.mkldnn._convolution_pointwise
    return lambda: convolve(data, packed, bias, *window, after, [], "")


def onednn_blocked_call(operator: Operator, inputs: Sequence[Any], cores: int) -> Callable[[], Any]:
    """A call on data that lies in oneDNN's blocked layout. Raises ``UsageError`` like that."""
    import torch

    use_threads(cores)
    if not isinstance(operator, Conv2d | DepthwiseConv2d):
        raise UsageError(f"oneDNN has no blocked layout for {operator.name}")
    data, weight, bias = _tensors(operator, inputs)
    window, packed, blocked = _window(operator), _packed(operator, weight), _blocked(data)
    opaque = None if bias is None else bias.to_mkldnn()
    if operator.relu:
        return lambda: torch.relu_(torch.mkldnn_convolution(blocked, packed, opaque, *window))
    return lambda: torch.mkldnn_convolution(blocked, packed, opaque, *window)


def _tensors(
    operator: Conv2d | Dense | DepthwiseConv2d, inputs: Sequence[Any]
) -> tuple[Any, Any, Any]:
    """Data, weights and bias, which is None where the operator has none."""
    import torch

    if operator.residual:
        raise UsageError("oneDNN is not compared with a residual")
    data, weight, *extra = map(torch.from_numpy, inputs)
    if isinstance(operator, DepthwiseConv2d):
        weight = weight.reshape(-1, 1, *weight.shape[2:])
    return data, weight, extra[0] if operator.bias else None


def _window(operator: Conv2d | DepthwiseConv2d) -> tuple[Any, ...]:
    """Padding, stride, dilation and groups, as PyTorch's oneDNN functions take them."""
    dilation = getattr(operator, "dilation", (1, 1))
    groups = operator.c if isinstance(operator, DepthwiseConv2d) else operator.groups
    return operator.padding, operator.stride, dilation, groups


def _packed(operator: Conv2d | DepthwiseConv2d, weight: Any) -> Any:
    """The weights as oneDNN wants them for this very operator."""
    import torch

    shape = operator.arguments[0].shape
    return torch._C._nn.mkldnn_reorder_conv2d_weight(weight.to_mkldnn(), *_window(operator), shape)


def _blocked(data: Any) -> Any:
    """The same values as oneDNN itself lays out a result: that of a convolution which copies."""
    import torch

    channels = data.shape[1]
    copies = torch.eye(channels).reshape(channels, channels, 1, 1).to_mkldnn()
    window = ((0, 0), (1, 1), (1, 1), 1)
    packed = torch._C._nn.mkldnn_reorder_conv2d_weight(copies, *window, data.shape)
    return torch.mkldnn_convolution(data.to_mkldnn(), packed, None, *window)
