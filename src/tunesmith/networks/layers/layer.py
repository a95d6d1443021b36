"""A layer: a call of one of our operators in a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tunesmith.networks.graph import Node, Value
from tunesmith.operators import Operator


@dataclass(frozen=True, eq=False)
class Layer:
    """An operator, and the values that it reads and makes.

    ``inputs`` are in the order of the operator's arguments. They have as many elements as these,
    in the same order, but maybe other shapes. ``covers`` are the nodes that it stands for.
    """

    operator: Operator
    inputs: tuple[Value, ...]
    output: Value
    covers: tuple[Node, ...]

    def followed_by(self, node: Node, inputs: Sequence[Value] = (), **options: Any) -> Layer:
        """The layer with the options of a node that follows, over these further inputs."""
        return Layer(
            replace(self.operator, **options),
            (*self.inputs, *inputs),
            node.output,
            (*self.covers, node),
        )


def new_layer(operator: Operator, inputs: Sequence[Value], node: Node) -> Layer:
    """The layer of a single node."""
    return Layer(operator, tuple(inputs), node.output, (node,))
