"""Operations on constants alone: NumPy computes them when the network is imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tunesmith.networks.graph import Array, Node, Rewriting, Value
from tunesmith.networks.simplify.slices import places_of, slices_of
from tunesmith.operators import Argument

Attributes = Mapping[str, Any]

_VIEWS: Mapping[str, Callable[[Array, Attributes], Array]] = {
    "reshape": lambda array, given: array.reshape(given["shape"]),
    "permute_dims": lambda array, given: array.transpose(given["axes"]),
    "expand_dims": lambda array, given: np.expand_dims(array, given["axis"]),
    "squeeze": lambda array, given: np.squeeze(array, given["axis"]),
    "broadcast_to": lambda array, given: np.broadcast_to(array, given["shape"]),
    "astype": lambda array, given: array.astype(given["dtype"]),
}
"""Operations of one tensor; most give a view of it, so large weights are not copied."""

_ELEMENTWISE: Mapping[str, Callable[..., Array]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negative": np.negative,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "rsqrt": lambda array: 1 / np.sqrt(array),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "isnan": np.isnan,
    "where": np.where,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "equal": np.equal,
    "bitwise_and": np.bitwise_and,
    "bitwise_not": np.bitwise_not,
    "bitwise_or": np.bitwise_or,
    "logical_and": np.logical_and,
    "logical_not": np.logical_not,
    "logical_or": np.logical_or,
}

_OTHERS: Mapping[str, Callable[[Array, Attributes], Array]] = {
    "max": lambda array, given: array.max(given["axis"], keepdims=given["keepdims"]),
    "min": lambda array, given: array.min(given["axis"], keepdims=given["keepdims"]),
    "tril": lambda array, given: np.tril(array, given["k"]),
    "triu": lambda array, given: np.triu(array, given["k"]),
}
"""Others of one tensor, as masks of attention are made with."""

_FILLED = {"zeros": 0, "ones": 1}
"""Tensors of one number, and that number."""
# Larger ones are not made constants, which are kept in memory and in files.
_MOST_FILLED = 1 << 16
_COUNTED = ("start", "end", "step")
"""The arguments of numbers in a row."""


def fold_constants(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:  # noqa: ARG001
    """A constant in place of an operation on constants."""
    if node.op in _FILLED and node.output.elements <= _MOST_FILLED:
        kind = Argument("filled", node.output.shape, node.output.dtype).numpy_dtype
        return [Value.of(np.full(node.output.shape, _FILLED[node.op], kind), node.output.name)]
    counted = [node.attributes[name] for name in _COUNTED if name in node.attributes]
    if node.op == "arange" and len(counted) == 3 and node.output.elements <= _MOST_FILLED:
        return [Value.of(np.arange(*counted).astype(node.output.dtype), node.output.name)]
    arrays = [value.constant for value in node.inputs]
    known = [array for array in arrays if array is not None]
    if not known or len(known) < len(arrays):
        return None
    if node.op in _VIEWS:
        result = _VIEWS[node.op](known[0], node.attributes)
    elif node.op in _OTHERS:
        result = _OTHERS[node.op](known[0], node.attributes)
    elif node.op == "full" and node.output.elements <= _MOST_FILLED:
        result = np.full(node.output.shape, known[0]).astype(node.output.dtype)
    elif node.op in _ELEMENTWISE:
        result = _ELEMENTWISE[node.op](*known).astype(node.output.dtype)
    elif node.op == "take" and (places := places_of(node)) is not None:
        result = np.take(known[0], places, node.attributes["axis"])
    elif node.op == "concat":
        result = np.concatenate(known, node.attributes["axis"])
    elif node.op == "strided_slice" and (part := slices_of(node)) is not None:
        result = known[0][part]
    else:
        return None
    # NumPy has plain numbers for arrays without axes.
    return [Value.of(np.asarray(result), node.output.name)]
