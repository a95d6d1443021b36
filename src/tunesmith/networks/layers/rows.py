"""Operators on the rows of a tensor, which its last axis runs along."""

from __future__ import annotations

from tunesmith.networks.graph import Node
from tunesmith.networks.layers.layer import Layer, new_layer
from tunesmith.operators import layer_norm, softmax


def match_softmax(node: Node) -> Layer | None:
    """Softmax over the last axis."""
    (data,) = node.inputs
    if node.attributes["axis"] not in (-1, len(data.shape) - 1):
        return None
    n = data.shape[-1]
    return new_layer(softmax(m=data.elements // n, n=n, dtype=data.dtype), (data,), node)


def match_layer_norm(node: Node) -> Layer | None:
    """Layer normalisation over the last axis."""
    data, gamma, beta = node.inputs
    if tuple(axis % len(data.shape) for axis in node.attributes["axes"]) != (len(data.shape) - 1,):
        return None
    n = data.shape[-1]
    operator = layer_norm(
        m=data.elements // n, n=n, eps=node.attributes["epsilon"], dtype=data.dtype
    )
    return new_layer(operator, (data, gamma, beta), node)
