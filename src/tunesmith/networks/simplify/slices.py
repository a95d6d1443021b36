"""Parts of tensors in one form, and look-ups by indices as they were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tunesmith.networks.graph import Array, Node, Rewriting, Value
from tunesmith.networks.simplify.making import reshape, sliced


def plain_slices(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """A part of a tensor in place of a slice without steps, and of a look-up at one known place.

    A negative place counts from the end: TVM's importer of PyTorch leaves them, and its look-up
    would then read what is before the tensor.
    """
    data = node.inputs[0] if node.inputs else None
    if data is None:
        return None
    taken = None
    if node.op == "strided_slice":
        taken = slices_of(node)
    elif node.op == "take" and node.inputs[1].elements == 1:
        taken = _place_of(node)
    if taken is None or any(part.step != 1 for part in taken):
        return None
    first, ends = (tuple(getattr(part, name) for part in taken) for name in ("start", "stop"))
    return [reshape(rewriting, sliced(rewriting, data, first, ends), node.output.shape)]


def _place_of(node: Node) -> tuple[slice, ...] | None:
    """What a look-up at one known place takes."""
    places, shape = places_of(node), node.inputs[0].shape
    if places is None:
        return None
    place, axis = int(places.reshape(())), (node.attributes["axis"] or 0) % len(shape)
    whole = [slice(0, extent, 1) for extent in shape]
    whole[axis] = slice(place, place + 1, 1)
    return tuple(whole)


def plain_indices(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """A look-up by indices as they were before they were converted: some copies less.

    What ONNX makes of negative indices is left out where the indices are an input of the network:
    calls refuse them.
    """
    if node.op != "take":
        return None
    table, index = node.inputs
    rows = table.shape[(node.attributes["axis"] or 0) % len(table.shape)]
    source = _before_conversion(index, rewriting)
    source = _before_counting_from_the_end(source, rows, rewriting)
    source = _before_conversion(source, rewriting)
    if rewriting.producer(source) is not None:
        source = _before_conversion(index, rewriting)
    if source is index or source.constant is not None:
        return None
    inputs = (table, reshape(rewriting, source, index.shape))
    output = Value(node.output.shape, node.output.dtype, node.output.name)
    return [rewriting.add(replace(node, inputs=inputs, outputs=(output,)))]


def _before_conversion(index: Value, rewriting: Rewriting) -> Value:
    """Indices before reshapes and changes of the type of integers."""
    producer = rewriting.producer(index)
    while producer is not None and producer.op in ("reshape", "astype"):
        if producer.inputs[0].dtype not in ("int32", "int64"):
            break
        index = producer.inputs[0]
        producer = rewriting.producer(index)
    return index


def _before_counting_from_the_end(index: Value, rows: int, rewriting: Rewriting) -> Value:
    """``index`` of ``where(index < 0, index + rows, index)``."""
    producer = rewriting.producer(index)
    if producer is None or producer.op != "where":
        return index
    negative, moved, plain = producer.inputs
    is_it = _is(negative, "less", plain, 0, rewriting) and _is(moved, "add", plain, rows, rewriting)
    return plain if is_it else index


def _is(value: Value, op: str, left: Value, number: int, rewriting: Rewriting) -> bool:
    """Whether a value is an operation on ``left`` and a number."""
    producer = rewriting.producer(value)
    if producer is None or producer.op != op or producer.inputs[0] is not left:
        return False
    constant = producer.inputs[1].constant
    return constant is not None and bool(np.all(constant == number))


def places_of(node: Node) -> Array | None:
    """The constant indices of a ``take``, from 0 on; None if they are none, or outside."""
    data, index = node.inputs
    if index.constant is None:
        return None
    size = data.shape[(node.attributes["axis"] or 0) % len(data.shape)]
    inside = bool(np.all((-size <= index.constant) & (index.constant < size)))
    return index.constant % size if inside else None


def slices_of(node: Node) -> tuple[slice, ...] | None:
    """What a ``strided_slice`` takes of each axis of its tensor; None if it goes backwards."""
    given, shape = node.attributes, node.inputs[0].shape
    found = [slice(0, extent, 1) for extent in shape]
    strides = given.get("strides") or (1,) * len(given["axes"])
    for axis, *part in zip(given["axes"], given["begin"], given["end"], strides, strict=True):
        if part[2] < 1:
            return None
        begin, end, step = slice(*part).indices(shape[axis])
        found[axis] = slice(begin, max(begin, end), step)
    return tuple(found)
