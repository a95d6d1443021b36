"""Pooling of images."""

from __future__ import annotations

from tunesmith.networks.graph import Node
from tunesmith.networks.layers.convolutions import symmetric
from tunesmith.networks.layers.layer import Layer, new_layer
from tunesmith.operators import pool2d


def match_pool2d(node: Node) -> Layer | None:
    """The maximum or the mean of windows of NCHW data."""
    given = node.attributes
    padding = symmetric(given["padding"])
    plain = given["layout"] == "NCHW" and given["dilation"] == (1, 1) and not given["ceil_mode"]
    if not plain or padding is None:
        return None
    (data,) = node.inputs
    n, c, h, w = data.shape
    average = node.op == "nn.avg_pool2d"
    operator = pool2d(
        n=n,
        c=c,
        h=h,
        w=w,
        kernel=given["pool_size"],
        stride=given["strides"],
        padding=padding,
        kind="avg" if average else "max",
        # Of no meaning otherwise: tasks that are the same have the same options.
        count_include_pad=given["count_include_pad"] or not average or padding == (0, 0),
        dtype=data.dtype,
    )
    return new_layer(operator, (data,), node)
