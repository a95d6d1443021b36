"""Operations of PyTorch that TVM's importer lacks, or of which it ignores an argument."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from tunesmith.networks.importing.pytorch_arguments import arguments
from tunesmith.networks.importing.pytorch_attention import attention
from tunesmith.networks.importing.pytorch_recurrent import RECURRENT

Convert = Callable[[Any, Any], Any]
"""``convert(node, importer)``: the Relax variable of a node of ``torch.fx``."""


def operations(*, recurrent: bool = True) -> Mapping[str, Convert]:
    """The conversions by PyTorch's names; without ``recurrent`` TVM writes LSTM and GRU out."""
    return {
        "_convolution_mode.default": _convolution_mode,
        "adaptive_max_pool2d.default": _adaptive_max_pool2d,
        "amax.default": _extreme("max"),
        "amin.default": _extreme("min"),
        "avg_pool2d.default": _avg_pool2d,
        "scaled_dot_product_attention.default": attention,
        **(RECURRENT if recurrent else {}),
    }


def _extreme(name: str) -> Convert:
    """A maximum or minimum over some axes, all if none are given."""

    def convert(node: Any, importer: Any) -> Any:
        from tvm import relax

        data, axes, keepdims = arguments(node, importer, (), False)
        function = getattr(relax.op, name)
        chosen = [axes] if isinstance(axes, int) else list(axes) or None
        return importer.block_builder.emit(function(data, chosen, keepdims))

    return convert


def _avg_pool2d(node: Any, importer: Any) -> Any:
    """With ``divisor_override``, which divides the sums instead of the number of elements."""
    from tvm import relax

    data, kernel, stride, padding, ceil_mode, counted, divisor = arguments(
        node, importer, None, (), 0, False, True, None
    )
    kernel, padding = _pair(kernel), _pair(padding)
    emit = importer.block_builder.emit
    batched = data.ty.ndim == 4
    images = data if batched else emit(relax.op.expand_dims(data, axis=[0]))
    if divisor is not None and ceil_mode:
        raise ValueError("avg_pool2d with divisor_override and ceil_mode is not supported")
    pooled = emit(
        relax.op.nn.avg_pool2d(
            images,
            pool_size=kernel,
            strides=_pair(stride) if stride else kernel,
            padding=padding,
            ceil_mode=ceil_mode,
            count_include_pad=counted or divisor is not None,
            layout="NCHW",
        )
    )
    if divisor is not None:
        factor = relax.const(math.prod(kernel) / divisor, str(pooled.ty.dtype))
        pooled = emit(relax.op.multiply(pooled, factor))
    return pooled if batched else emit(relax.op.squeeze(pooled, axis=[0]))


def _adaptive_max_pool2d(node: Any, importer: Any) -> Any:
    """The maxima; nothing may read where they are.

    Windows that are not alike become so: some of their rows and columns are taken twice.
    """
    from tvm import relax

    data, sizes = arguments(node, importer, None)
    if any(user.args[1] != 0 for user in node.users):
        raise ValueError("adaptive_max_pool2d that returns indices is not supported")
    emit = importer.block_builder.emit
    batched = data.ty.ndim == 4
    images = data if batched else emit(relax.op.expand_dims(data, axis=[0]))
    extents = [int(extent) for extent in list(images.ty.shape)[2:]]
    counts = [count or extent for count, extent in zip(_pair(sizes), extents, strict=True)]
    kernel = []
    for axis, (extent, count) in enumerate(zip(extents, counts, strict=True), start=2):
        taken = _taken(extent, count)
        kernel.append(len(taken) // count)
        if taken != list(range(extent)):
            indices = relax.const(taken, "int64")
            images = emit(relax.op.take(images, indices, axis=axis))
    pooled = emit(relax.op.nn.max_pool2d(images, pool_size=kernel, strides=kernel, layout="NCHW"))
    found = pooled if batched else emit(relax.op.squeeze(pooled, axis=[0]))
    return relax.Tuple([found])


def _taken(extent: int, count: int) -> list[int]:
    """The rows of all windows, of equally many each."""
    windows = [
        range(number * extent // count, -(-(number + 1) * extent // count))
        for number in range(count)
    ]
    most = max(map(len, windows))
    return [
        min(start, window[-1]) for window in windows for start in range(window[0], window[0] + most)
    ]


def _convolution_mode(node: Any, importer: Any) -> Any:
    """A convolution whose padding is a word."""
    from tvm import relax

    data, weight, bias, strides, padding, dilation, groups = arguments(
        node, importer, None, None, 1, "valid", 1, 1
    )
    if data.ty.ndim != weight.ty.ndim or data.ty.ndim not in (3, 4):
        raise ValueError(
            "convolutions with padding='same' are supported for images and sequences in batches"
        )
    axes = data.ty.ndim - 2
    function = relax.op.nn.conv2d if axes == 2 else relax.op.nn.conv1d
    dilation = _pair(dilation)[:axes]
    spans = [
        step * (int(taps) - 1)
        for step, taps in zip(dilation, list(weight.ty.shape)[2:], strict=True)
    ]
    before = [span // 2 if padding == "same" else 0 for span in spans]
    after = [
        span - first if padding == "same" else 0 for span, first in zip(spans, before, strict=True)
    ]
    emit = importer.block_builder.emit
    found = emit(
        function(
            data,
            weight,
            strides=_pair(strides)[:axes],
            padding=(*before, *after),
            dilation=dilation,
            groups=groups,
        )
    )
    if bias is None:
        return found
    channels = emit(relax.op.reshape(bias, (1, -1, *[1] * axes)))
    return emit(relax.op.add(found, channels))


def _pair(value: Any) -> tuple[int, int]:
    """A number twice, or the only two of a list."""
    if isinstance(value, int):
        return value, value
    first, *rest = value
    return first, rest[0] if rest else first
