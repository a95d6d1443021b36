"""Products of matrices."""

from __future__ import annotations

import math

from tunesmith.networks.graph import Node, Value
from tunesmith.networks.layers.layer import Layer, new_layer
from tunesmith.operators import batch_matmul, dense, matmul


def match_matmul(node: Node) -> Layer | None:
    """A product by one matrix for all rows, or of as many pairs of matrices on both sides."""
    left, right = node.inputs
    if len(left.shape) < 2 or len(right.shape) < 2:
        return None
    *_, rows, k = left.shape
    n = right.shape[-1]
    if math.prod(right.shape[:-2]) == 1:
        return _by_one_matrix(node, left, right)
    if left.shape[:-2] != right.shape[:-2]:
        return None
    operator = batch_matmul(b=math.prod(left.shape[:-2]), m=rows, n=n, k=k, dtype=left.dtype)
    return new_layer(operator, (left, right), node)


def match_matmul_nt(node: Node) -> Layer | None:
    """A batch of products whose right sides are transposed."""
    left, right = node.inputs
    b, m, k = left.shape
    operator = batch_matmul(b=b, m=m, n=right.shape[1], k=k, transpose="NT", dtype=left.dtype)
    return new_layer(operator, (left, right), node)


def _by_one_matrix(node: Node, left: Value, right: Value) -> Layer:
    k, n = right.shape[-2:]
    m = left.elements // k
    weights = right.constant
    if weights is None:
        return new_layer(matmul(m=m, n=n, k=k, dtype=left.dtype), (left, right), node)
    matrix = weights.reshape(k, n)
    if matrix.T.flags.c_contiguous:  # the weights of PyTorch's Linear, transposed
        layer = dense(m=m, n=n, k=k, dtype=left.dtype, constant_weights=True)
        return new_layer(layer, (left, Value.of(matrix.T, right.name)), node)
    product = matmul(m=m, n=n, k=k, dtype=left.dtype, constant_weights=True)
    return new_layer(product, (left, right), node)
