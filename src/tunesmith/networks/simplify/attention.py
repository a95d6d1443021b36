"""Attention as products of matrices and softmax, where an ONNX file has it as one operation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tunesmith.networks.graph import Node, Rewriting, Value
from tunesmith.networks.simplify.making import (
    add,
    affine,
    matmul,
    matmul_nt,
    permuted,
    reshape,
    softmax,
)

# Relax has (batch, sequence, heads, depth), products have (batch, heads, sequence, depth); the
# exchange of both axes is its own inverse.
_EXCHANGED = (0, 2, 1, 3)


def write_out_attention(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """``softmax(q k^T * scale + bias) v`` of each head, without a mask."""
    if node.op not in ("nn.attention", "nn.attention_bias"):
        return None
    given = node.attributes
    if given.get("causal_mask") is not None or given.get("window_size") is not None:
        return None
    by_heads = [permuted(rewriting, value, _EXCHANGED) for value in node.inputs[:3]]
    if by_heads[0].shape[:2] != by_heads[1].shape[:2]:  # queries that share keys
        return None
    query, key, value = (_matrices(rewriting, each) for each in by_heads)
    scale = given.get("scale") or 1 / math.sqrt(query.shape[-1])
    scores = affine(rewriting, matmul_nt(rewriting, query, key), scale)
    batch, heads, tokens, _ = by_heads[0].shape
    for bias in node.inputs[3:]:
        scores = reshape(rewriting, scores, (batch, heads, tokens, key.shape[1]))
        scores = add(rewriting, scores, bias)
        scores = reshape(rewriting, scores, (batch * heads, tokens, key.shape[1]))
    found = matmul(rewriting, softmax(rewriting, scores), value)
    found = reshape(rewriting, found, (batch, heads, tokens, value.shape[-1]))
    return [permuted(rewriting, found, _EXCHANGED)]


def _matrices(rewriting: Rewriting, value: Value) -> Value:
    """The matrices of all heads, one after the other."""
    batch, heads, *matrix = value.shape
    return reshape(rewriting, value, (batch * heads, *matrix))
