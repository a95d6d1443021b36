"""Products of matrices of which the right ones are transposed, without copies of these."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tunesmith.networks.graph import Node, Rewriting, Value
from tunesmith.networks.simplify.making import matmul_nt, reshape


def transposed_products(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """A batch of products that reads rows where it would read columns of a transposed copy."""
    if node.op != "matmul":
        return None
    left, right = node.inputs
    producer = rewriting.producer(right)
    if producer is None or producer.op != "permute_dims" or len(right.shape) < 3:
        return None
    axes, batch = producer.attributes["axes"], left.shape[:-2]
    last = len(right.shape) - 1
    if axes is None or tuple(axis % len(axes) for axis in axes) != (
        *range(last - 1),
        last,
        last - 1,
    ):
        return None
    rows = producer.inputs[0]
    if right.shape[:-2] != batch:
        return None
    matrices = [
        reshape(rewriting, value, (math.prod(batch), *value.shape[-2:])) for value in (left, rows)
    ]
    return [reshape(rewriting, matmul_nt(rewriting, *matrices), node.output.shape)]
