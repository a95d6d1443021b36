"""Pooling of images and of sequences, and reductions over axes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from tunesmith.networks.axes import neighbouring, reduced_axes
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
    average, sides = "avg" in node.op, given["padding"]
    before, after = (_pair(half, 0) for half in (sides[: len(image)], sides[len(image) :]))
    h, w = _pair(image, 1)
    operator = pool2d(
        n=n,
        c=c,
        h=h,
        w=w,
        kernel=_pair(given["pool_size"], 1),
        stride=_pair(given["strides"], 1),
        padding=(*before, *after),
        kind="avg" if average else "max",
        count_include_pad=given["count_include_pad"] or not average or not any(sides),
        ceil_mode=given["ceil_mode"],
        dtype=data.dtype,
    )
    fitting = dataclasses.replace(operator, ceil_mode=False)
    if fitting.output_image == operator.output_image:
        operator = fitting
    if operator.result.elements != node.output.elements:
        return None
    return new_layer(operator, (data,), node)


def match_adaptive_pool(node: Node) -> Layer | None:
    """The means of windows that cover NCHW images, or NCW sequences as images of one row."""
    (data,) = node.inputs
    if node.attributes["layout"] not in ("NCHW", "NCW"):
        return None
    n, c, *image = data.shape
    h, w = _pair(image, 1)
    output = _pair(node.output.shape[2:], 1)
    operator = adaptive_pool2d(n=n, c=c, h=h, w=w, output_size=output, dtype=data.dtype)
    return new_layer(operator, (data,), node)


def match_reduce(node: Node) -> Layer | None:
    """A reduction over neighbouring axes."""
    (data,) = node.inputs
    axes = reduced_axes(data.shape, node.attributes["axis"])
    if not axes or len(neighbouring(data.shape, axes)) > 1:
        return None
    before, reduced, after = (
        math.prod(data.shape[begin:end])
        for begin, end in ((0, axes[0]), (axes[0], axes[-1] + 1), (axes[-1] + 1, None))
    )
    operator = reduce(outer=before, n=reduced, inner=after, kind=node.op, dtype=data.dtype)
    return new_layer(operator, (data,), node)


def _pair(values: Sequence[int], of_rows: int) -> tuple[int, int]:
    """The two numbers of an image, or the one of a sequence after that ``of_rows``."""
    rows, columns = values if len(values) == 2 else (of_rows, *values)
    return rows, columns
