"""Padding that ONNX files give by a rule (``auto_pad``), in numbers.

TVM's importer takes a convolution's for an operation of its own, and rounds down the sizes of
results where ONNX rounds them up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_RULES = (b"SAME_UPPER", b"SAME_LOWER")
_WINDOWS = ("AveragePool", "Conv", "MaxPool")


def with_padding_in_numbers(model: Any, shapes: Mapping[str, Sequence[int]]) -> Any:
    """A model whose convolutions and poolings say how many rows and columns they add.

    ``shapes`` are those of its inputs. The model itself where there is nothing to change.
    """
    if not any(_rule(node) is not None for node in model.graph.node):
        return model
    import onnx

    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for given in changed.graph.input:
        for size, number in zip(
            given.type.tensor_type.shape.dim, shapes.get(given.name, ()), strict=False
        ):
            size.dim_value = number
    known = _shapes(onnx.shape_inference.infer_shapes(changed))
    for node in changed.graph.node:
        rule = _rule(node)
        image = known.get(node.input[0], ())[2:]
        if rule is None or not image or not all(image):
            continue
        given = {"kernel_shape": _kernel(node, known), **_attributes(node)}
        pads = _pads(given, rule, image)
        kept = [each for each in node.attribute if each.name not in ("auto_pad", "pads")]
        del node.attribute[:]
        node.attribute.extend([*kept, onnx.helper.make_attribute("pads", pads)])
    return changed


def _rule(node: Any) -> bytes | None:
    if node.op_type not in _WINDOWS:
        return None
    rule = _attributes(node).get("auto_pad")
    return rule if rule in _RULES else None


def _attributes(node: Any) -> dict[str, Any]:
    from onnx import helper

    return {each.name: helper.get_attribute_value(each) for each in node.attribute}


def _shapes(model: Any) -> dict[str, tuple[int, ...]]:
    """The shapes of all tensors whose shapes are known; unknown sizes are 0."""
    graph = model.graph
    found = {
        value.name: tuple(size.dim_value for size in value.type.tensor_type.shape.dim)
        for value in (*graph.input, *graph.value_info, *graph.output)
    }
    return found | {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}


def _kernel(node: Any, known: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The window of a convolution: that of its weights."""
    return known.get(node.input[1], ())[2:] if node.op_type == "Conv" else ()


def _pads(given: Mapping[str, Any], rule: bytes, image: Sequence[int]) -> list[int]:
    """What is added before each axis, then what is added behind each."""
    ones = [1] * len(image)
    axes = zip(
        image,
        given["kernel_shape"],
        given.get("strides", ones),
        given.get("dilations", ones),
        strict=True,
    )
    totals = [
        max(0, (-(-size // stride) - 1) * stride + (taps - 1) * dilation + 1 - size)
        for size, taps, stride, dilation in axes
    ]
    smaller = [total // 2 for total in totals]
    larger = [total - half for total, half in zip(totals, smaller, strict=True)]
    return [*smaller, *larger] if rule == b"SAME_UPPER" else [*larger, *smaller]
