"""Activation functions that were exported as several operations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tunesmith.networks.graph import Node, Rewriting, Rule, Value
from tunesmith.networks.simplify.making import (
    clip,
    hard_sigmoid,
    hard_swish,
    maximum,
    minimum,
    silu,
)


def name_activations(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """SiLU, hard sigmoid, hard swish and clips as one operation each."""
    rule = _RULES.get(node.op)
    return None if rule is None else rule(node, rewriting)


def _gated(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """SiLU or hard swish: a value times a function of it."""
    left, right = node.inputs
    for data, gate in ((left, right), (right, left)):
        producer = rewriting.producer(gate)
        if producer is None or data not in producer.inputs[:1]:
            continue
        if producer.op == "sigmoid":
            return [silu(rewriting, data)]
        if producer.op == "hard_sigmoid":
            return [hard_swish(rewriting, data)]
    return None


def _clip(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """The maximum or the minimum of a value and a number.

    Of floats, for one of the bounds of a clip may be infinite.
    """
    data, bound = node.inputs
    if data.constant is not None:
        data, bound = bound, data
    if bound.constant is None or bound.elements != 1:
        return None
    if "float" not in data.dtype or data.shape != node.output.shape:
        return None
    number = float(bound.constant.reshape(()))
    if node.op == "maximum":
        return [clip(rewriting, data, number, math.inf)]
    inner = rewriting.producer(data)
    if inner is not None and inner.op == "clip" and inner.attributes["max"] == math.inf:
        return [clip(rewriting, inner.inputs[0], inner.attributes["min"], number)]
    return [clip(rewriting, data, -math.inf, number)]


def _clip_of_integers(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """A clip with one bound alone as a maximum or minimum: no integer is infinite."""
    (data,) = node.inputs
    low, high = node.attributes["min"], node.attributes["max"]
    if (
        "int" not in data.dtype
        or None in (low, high)
        or (math.isfinite(low) and math.isfinite(high))
    ):
        return None
    if math.isfinite(low):
        data = maximum(rewriting, data, low)
    if math.isfinite(high):
        data = minimum(rewriting, data, high)
    return [data]


def _hard_sigmoid(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """``clip(x + 3, 0, 6) / 6``."""
    clipped, six = node.inputs
    clip = rewriting.producer(clipped)
    if not _is(six, 6) or clip is None or clip.op != "clip":
        return None
    if (clip.attributes["min"], clip.attributes["max"]) != (0, 6):
        return None
    added = rewriting.producer(clip.inputs[0])
    if added is None or added.op != "add" or not _is(added.inputs[1], 3):
        return None
    return [hard_sigmoid(rewriting, added.inputs[0])]


def _is(value: Value, number: float) -> bool:
    """Whether a value is this constant."""
    constant = value.constant
    return constant is not None and constant.size == 1 and float(constant.reshape(())) == number


_RULES: Mapping[str, Rule] = {
    "clip": _clip_of_integers,
    "divide": _hard_sigmoid,
    "maximum": _clip,
    "minimum": _clip,
    "multiply": _gated,
}
