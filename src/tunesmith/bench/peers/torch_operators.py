"""Our operators as PyTorch computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tunesmith.bench.timing.fastest import Fastest
from tunesmith.errors import UsageError
from tunesmith.operators import (
    AdaptivePool2d,
    BatchMatmul,
    Conv2d,
    Conv2dTranspose,
    Dense,
    DepthwiseConv2d,
    Embedding,
    LayerNorm,
    Matmul,
    Operator,
    Pool2d,
    ProductOperator,
    Reduce,
    Softmax,
)


def torch_call(operator: Operator, inputs: Sequence[Any], cores: int) -> Callable[[], Any]:
    """A call of the operator on these NumPy arrays, converted and laid out beforehand.

    Matrices are multiplied into new memory or into the same in each call, whichever is faster. The
    result is a tensor with the axes in PyTorch's order: channels are the second of an image,
    however they lie in memory. Raises ``UsageError`` for an operator that PyTorch does not have.
    """
    if operator.dtype == "int8":
        raise UsageError(f"PyTorch has no {operator.name} of int8 that adds up in int32")
    use_threads(cores)
    tensors = [own_tensor(array) for array in inputs]
    new = tensor_call(operator, tensors)
    if not isinstance(operator, Matmul | BatchMatmul | Dense):
        return new
    result = tensors[0].new_empty(operator.output_shape)
    return Fastest({"new result": new, "same result": product_call(operator, tensors, result)})


def use_threads(count: int) -> None:
    """Set this process up to compute, on so many threads, and not to learn."""
    import torch

    torch.set_num_threads(count)
    torch.set_grad_enabled(False)


def own_tensor(array: Any) -> Any:
    """A copy in memory of PyTorch, which aligns it to 64 bytes, as ours is; NumPy does not."""
    import torch

    if array.dtype.name == "bfloat16":  # which NumPy itself does not have
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16).clone()
    return torch.from_numpy(array).clone()


def tensor_call(operator: Operator, tensors: Sequence[Any]) -> Callable[[], Any]:
    """The same for tensors, into new memory."""
    if isinstance(operator, ProductOperator):
        return product_call(operator, tensors)
    return _plain(operator, tensors)


def product_call(
    operator: ProductOperator, tensors: Sequence[Any], result: Any = None
) -> Callable[[], Any]:
    """The same for tensors, and an operator of products: into ``result``, which only products of
    matrices can be given, or else into new memory."""
    import torch

    data, weight, *extra = tensors
    bias = extra[0] if operator.bias else None
    residual = extra[-1] if operator.residual else None
    if residual is not None and getattr(operator, "layout", "NCHW") == "NHWC":
        residual = residual.permute(0, 3, 1, 2)
    products = _products(operator, data, weight, bias, result)

    def call() -> Any:
        computed = products()
        if residual is not None:
            computed = computed.add_(residual)
        return torch.relu_(computed) if operator.relu else computed

    return call


def _products(
    operator: ProductOperator, data: Any, weight: Any, bias: Any, result: Any
) -> Callable[[], Any]:
    import torch
    from torch.nn import functional

    if isinstance(operator, Dense) and result is None:
        return lambda: functional.linear(data, weight, bias)
    if isinstance(operator, Matmul | Dense):
        right = weight.t() if isinstance(operator, Dense) else weight
        return _product((torch.mm, torch.addmm), data, right, bias, result)
    if isinstance(operator, BatchMatmul):
        left = data.transpose(1, 2) if operator.transpose == "TN" else data
        right = weight.transpose(1, 2) if operator.transpose == "NT" else weight
        return _product((torch.bmm, torch.baddbmm), left, right, bias, result)
    if isinstance(operator, Conv2dTranspose):
        return lambda: functional.conv_transpose2d(
            data,
            weight,
            bias,
            stride=operator.stride,
            padding=operator.padding,
            output_padding=operator.output_padding,
        )
    if isinstance(operator, Conv2d | DepthwiseConv2d):
        return _convolution(operator, data, weight, bias)
    raise UsageError(f"PyTorch has no operator to compare {operator.name} with")


def _product(
    functions: tuple[Any, Any], left: Any, right: Any, bias: Any, result: Any
) -> Callable[[], Any]:
    """By the first function, or with a bias by the second."""
    product, sum_and_product = functions
    if bias is None:
        return lambda: product(left, right, out=result)
    return lambda: sum_and_product(bias, left, right, out=result)


def _convolution(
    operator: Conv2d | DepthwiseConv2d, data: Any, weight: Any, bias: Any
) -> Callable[[], Any]:
    """NHWC data is given to PyTorch as its own channels-last format, which is the same memory."""
    from torch.nn import functional

    depthwise = isinstance(operator, DepthwiseConv2d)
    if operator.layout == "NHWC":
        import torch

        data = data.permute(0, 3, 1, 2)
        weight = weight.permute(2, 3, 0, 1) if depthwise else weight.permute(3, 2, 0, 1)
        if not depthwise:
            weight = weight.contiguous(memory_format=torch.channels_last)
    if depthwise:
        weight = weight.reshape(-1, 1, *weight.shape[2:])
    window = (operator.stride, operator.padding, operator.dilation, operator.groups)
    return lambda: functional.conv2d(data, weight, bias, *window)


def _plain(operator: Operator, tensors: Sequence[Any]) -> Callable[[], Any]:
    from torch.nn import functional

    data = tensors[0]
    if isinstance(operator, Softmax):
        return lambda: functional.softmax(data, dim=-1)
    if isinstance(operator, LayerNorm):
        _, gamma, beta = tensors
        return lambda: functional.layer_norm(data, (operator.n,), gamma, beta, operator.eps)
    if isinstance(operator, Pool2d):
        return _pool(operator, data)
    if isinstance(operator, AdaptivePool2d):
        mean = operator.kind == "avg"
        pool = functional.adaptive_avg_pool2d if mean else functional.adaptive_max_pool2d
        return lambda: pool(data, operator.output_size)
    if isinstance(operator, Reduce):
        return _reduction(operator, data)
    if isinstance(operator, Embedding):
        return lambda: functional.embedding(data, tensors[1])
    raise UsageError(f"PyTorch has no operator to compare {operator.name} with")


def _pool(operator: Pool2d, data: Any) -> Callable[[], Any]:
    from torch.nn import functional

    if operator.layout == "NHWC":
        data = data.permute(0, 3, 1, 2)
    window = (operator.kernel, operator.stride, operator.padding)
    ceil, counted = operator.ceil_mode, operator.count_include_pad
    if operator.kind == "max":
        return lambda: functional.max_pool2d(data, *window, ceil_mode=ceil)
    return lambda: functional.avg_pool2d(data, *window, ceil, counted)


def _reduction(operator: Reduce, data: Any) -> Callable[[], Any]:
    import torch

    function = {"mean": torch.mean, "sum": torch.sum, "max": torch.amax, "min": torch.amin}
    return lambda: function[operator.kind](data, dim=1)
