"""Activation functions that were exported as several operations."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tunesmith.networks.graph import Node, Rewriting, Value
from tunesmith.networks.simplify.making import clip, hard_sigmoid, hard_swish, silu


def name_activations(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """SiLU, hard sigmoid, hard swish and clips as one operation each."""
    if node.op in ("maximum", "minimum"):
        return _clip(node, rewriting)
    if node.op == "divide":
        data = _hard_sigmoid_of(node, rewriting)
        return None if data is None else [hard_sigmoid(rewriting, data)]
    if node.op != "multiply":
        return None
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
    """The maximum or the minimum of a value and a number."""
    data, bound = node.inputs
    if data.constant is not None:
        data, bound = bound, data
    if bound.constant is None or bound.elements != 1:
        return None
    number = float(bound.constant.reshape(()))
    if node.op == "maximum":
        return [clip(rewriting, data, number, math.inf)]
    inner = rewriting.producer(data)
    if inner is not None and inner.op == "clip" and inner.attributes["max"] == math.inf:
        return [clip(rewriting, inner.inputs[0], inner.attributes["min"], number)]
    return [clip(rewriting, data, -math.inf, number)]


def _hard_sigmoid_of(node: Node, rewriting: Rewriting) -> Value | None:
    """``x`` of ``clip(x + 3, 0, 6) / 6``."""
    clipped, six = node.inputs
    clip = rewriting.producer(clipped)
    if not _is(six, 6) or clip is None or clip.op != "clip":
        return None
    if (clip.attributes["min"], clip.attributes["max"]) != (0, 6):
        return None
    added = rewriting.producer(clip.inputs[0])
    if added is None or added.op != "add" or not _is(added.inputs[1], 3):
        return None
    return added.inputs[0]


def _is(value: Value, number: float) -> bool:
    """Whether a value is this constant."""
    constant = value.constant
    return constant is not None and constant.size == 1 and float(constant.reshape(())) == number
