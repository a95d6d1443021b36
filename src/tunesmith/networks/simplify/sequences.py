"""Convolutions of sequences as those of images of one row, which operators of ours cover."""

from __future__ import annotations

from collections.abc import Sequence

from tunesmith.networks.graph import Node, Rewriting, Value
from tunesmith.networks.simplify.making import convolution, reshape

# The layouts of sequences, and those of images.
_LAYOUTS = {"NCW": "NCHW", "OIW": "OIHW", "IOW": "IOHW"}


def sequences_as_images(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """``conv1d`` and its transpose as ``conv2d`` and its."""
    given = node.attributes
    if node.op not in ("nn.conv1d", "nn.conv1d_transpose"):
        return None
    layouts = ("data_layout", "kernel_layout", "out_layout")
    if any(given[name] not in _LAYOUTS for name in layouts):
        return None
    before, after = given["padding"]
    attributes = {
        **given,
        **{name: _LAYOUTS[given[name]] for name in layouts},
        "strides": (1, *given["strides"]),
        "padding": (0, before, 0, after),
        "dilation": (1, *given["dilation"]),
    }
    if "output_padding" in given:
        attributes["output_padding"] = (0, *given["output_padding"])
    data, weights = (_of_one_row(rewriting, value) for value in node.inputs)
    n, channels, width = node.output.shape
    op = node.op.replace("1d", "2d")
    found = convolution(rewriting, op, (data, weights), (n, channels, 1, width), attributes)
    return [reshape(rewriting, found, node.output.shape)]


def _of_one_row(rewriting: Rewriting, value: Value) -> Value:
    first, second, width = value.shape
    shape = (first, second, 1, width)
    if value.constant is not None:
        return Value.of(value.constant.reshape(shape), value.name)
    return reshape(rewriting, value, shape)
