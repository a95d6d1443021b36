"""Padding before windows, as the padding of what follows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tunesmith.networks.graph import Node, Rewriting, Value
from tunesmith.networks.simplify.making import with_attributes

_LAYOUTS = ("data_layout", "layout")


def fold_padding(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """A convolution or pooling that pads by itself, in place of one of padded images.

    Convolutions and means take zeros. A maximum takes what is below any number.
    """
    value = _FILLS.get(node.op)
    before = rewriting.producer(node.inputs[0]) if value is not None else None
    if before is None or before.op != "nn.pad" or not _fits(node, before, value):
        return None
    (data,) = before.inputs
    widths = before.attributes["pad_width"]
    added = (*widths[4::2], *widths[5::2])
    given = node.attributes
    padding = tuple(one + other for one, other in zip(given["padding"], added, strict=True))
    changed: dict[str, Any] = {"padding": padding}
    if node.op == "nn.avg_pool2d":
        changed["count_include_pad"] = True
    return [with_attributes(rewriting, node, (data, *node.inputs[1:]), changed)]


_FILLS: Mapping[str, float] = {
    "nn.conv2d": 0.0,
    "nn.avg_pool2d": 0.0,
    "nn.max_pool2d": -math.inf,
}


def _fits(node: Node, pad: Node, value: float | None) -> bool:
    """Whether the padding is what the node adds, too."""
    given, widths = node.attributes, pad.attributes["pad_width"]
    layout = next(given[name] for name in _LAYOUTS if name in given)
    plain = (
        layout == "NCHW"
        and pad.attributes["pad_mode"] == "constant"
        and pad.attributes["pad_value"] == value
        and len(widths) == 8
        and not any(widths[:4])
        and min(widths) >= 0
    )
    if not plain or node.op == "nn.conv2d":
        return plain
    # A window of nothing but padding is no window of pooling.
    small = all(
        width < size
        for width, size in zip(
            widths[4:], (n for n in given["pool_size"] for _ in "ab"), strict=True
        )
    )
    alone = not any(given["padding"]) or node.op == "nn.max_pool2d" or given["count_include_pad"]
    return small and alone and not given["ceil_mode"]
