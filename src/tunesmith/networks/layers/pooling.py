"""Pooling of images and of sequences, and reductions over axes."""

from __future__ import annotations

import dataclasses
import math

from tunesmith.networks.graph import Node
from tunesmith.networks.layers.layer import Layer, new_layer
from tunesmith.operators import adaptive_pool2d, pool2d, reduce


def match_pool(node: Node) -> Layer | None:
    """The maximum or the mean of windows of NCHW images, or of NCW sequences as images of one row.

    Tasks that are the same have the same options, so those of no effect have their defaults.
    """
    given, (data,) = node.attributes, node.inputs
    if given["layout"] not in ("NCHW", "NCW") or set(given["dilation"]) != {1}:
        return None
    n, c, *image = data.shape
    row = (1,) * (2 - len(image))
    average = "avg" in node.op
    before, after = _halves(given["padding"])
    zero = (0,) * (2 - len(before))
    h, w = (*row, *image)
    operator = pool2d(
        n=n,
        c=c,
        h=h,
        w=w,
        kernel=(*row, *given["pool_size"]),
        stride=(*row, *given["strides"]),
        padding=(*zero, *before, *zero, *after),
        kind="avg" if average else "max",
        count_include_pad=given["count_include_pad"],
        ceil_mode=given["ceil_mode"],
        dtype=data.dtype,
    )
    fitting = dataclasses.replace(operator, ceil_mode=False)
    if fitting.output_image == operator.output_image:
        operator = fitting
    if not average or not any(operator.padding) and not operator.ceil_mode:
        operator = dataclasses.replace(operator, count_include_pad=True)
    if operator.result.elements != node.output.elements:
        return None
    return new_layer(operator, (data,), node)


def match_adaptive_pool(node: Node) -> Layer | None:
    """The means of windows that cover NCHW images, or NCW sequences as images of one row."""
    (data,) = node.inputs
    if node.attributes["layout"] not in ("NCHW", "NCW"):
        return None
    n, c, *image = data.shape
    row = (1,) * (2 - len(image))
    h, w = (*row, *image)
    output = (*row, *node.output.shape[2:])
    operator = adaptive_pool2d(n=n, c=c, h=h, w=w, output=output, dtype=data.dtype)
    return new_layer(operator, (data,), node)


def match_reduce(node: Node) -> Layer | None:
    """A reduction over neighbouring axes."""
    (data,) = node.inputs
    axes = reduced_axes(node)
    if not axes or len(neighbouring(data.shape, axes)) > 1:
        return None
    before, reduced, after = (
        math.prod(data.shape[begin:end])
        for begin, end in ((0, axes[0]), (axes[0], axes[-1] + 1), (axes[-1] + 1, None))
    )
    operator = reduce(outer=before, n=reduced, inner=after, kind=node.op, dtype=data.dtype)
    return new_layer(operator, (data,), node)


def reduced_axes(node: Node) -> tuple[int, ...]:
    """The axes of a reduction that have several elements, in order; none given means all."""
    shape, axes = node.inputs[0].shape, node.attributes["axis"]
    chosen = range(len(shape)) if axes is None else (axis % len(shape) for axis in axes)
    return tuple(sorted(axis for axis in chosen if shape[axis] > 1))


def neighbouring(shape: tuple[int, ...], axes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Axes in groups between which there are no others of several elements."""
    groups: list[tuple[int, ...]] = []
    for axis in axes:
        if groups and math.prod(shape[groups[-1][-1] + 1 : axis]) == 1:
            groups[-1] = (*groups[-1], axis)
        else:
            groups.append((axis,))
    return groups


def _halves(padding: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    half = len(padding) // 2
    return padding[:half], padding[half:]
