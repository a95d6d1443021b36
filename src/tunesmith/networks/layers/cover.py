"""Covers a graph with layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tunesmith.errors import UsageError
from tunesmith.networks.graph import RESHAPES, Graph, Node
from tunesmith.networks.layers import elementwise, epilogues
from tunesmith.networks.layers.convolutions import match_conv2d, match_conv2d_transpose
from tunesmith.networks.layers.elementwise import match_elementwise
from tunesmith.networks.layers.layer import Layer
from tunesmith.networks.layers.look_ups import match_take
from tunesmith.networks.layers.pooling import match_adaptive_pool, match_pool, match_reduce
from tunesmith.networks.layers.products import match_matmul, match_matmul_nt
from tunesmith.networks.layers.recurrent import match_cell
from tunesmith.networks.layers.rows import match_layer_norm, match_softmax
from tunesmith.operators import Elementwise, ProductOperator

Step = Layer | Node


@dataclass(frozen=True, eq=False)
class CoveredGraph:
    """A graph, and what computes it: layers, and nodes that none covers, in order."""

    graph: Graph
    steps: tuple[Step, ...]

    @property
    def layers(self) -> tuple[Layer, ...]:
        return tuple(step for step in self.steps if isinstance(step, Layer))


_MATCHERS: Mapping[str, Callable[[Node], Layer | None]] = {
    "gru": match_cell,
    "lstm": match_cell,
    "matmul": match_matmul,
    "matmul_nt": match_matmul_nt,
    "max": match_reduce,
    "mean": match_reduce,
    "min": match_reduce,
    "nn.adaptive_avg_pool1d": match_adaptive_pool,
    "nn.adaptive_avg_pool2d": match_adaptive_pool,
    "nn.avg_pool1d": match_pool,
    "nn.avg_pool2d": match_pool,
    "nn.conv2d": match_conv2d,
    "nn.conv2d_transpose": match_conv2d_transpose,
    "nn.layer_norm": match_layer_norm,
    "nn.max_pool1d": match_pool,
    "nn.max_pool2d": match_pool,
    "nn.softmax": match_softmax,
    "sum": match_reduce,
    "take": match_take,
}


def covered(graph: Graph) -> CoveredGraph:
    """The graph with its nodes made layers, where an operator of ours covers them.

    Products take the elementwise operations that follow them first, chains of these what is left.
    A layer of several nodes is where the last of them was: all that it reads is there by then.
    """
    steps: dict[Node, Step] = {node: node for node in graph.nodes}
    for match in (_operator, match_elementwise):
        for node in graph.nodes:
            if steps.get(node) is not node:
                continue
            layer = _layer(node, match, graph, steps)
            if layer is None:
                continue
            for covered_node in layer.covers:
                del steps[covered_node]
            steps[layer.covers[-1]] = layer
    return CoveredGraph(graph, tuple(steps[node] for node in graph.nodes if node in steps))


def _operator(node: Node) -> Layer | None:
    matcher = _MATCHERS.get(node.op)
    return None if matcher is None else matcher(node)


def _layer(
    node: Node,
    match: Callable[[Node], Layer | None],
    graph: Graph,
    steps: Mapping[Node, Step],
) -> Layer | None:
    """The layer that begins with a node, with all operations that follow and that it can have."""
    try:
        layer = match(node)
    except UsageError:  # an operator of ours, but with a shape or a type that it does not have
        return None
    while layer is not None:
        longer = _longer(layer, graph, steps)
        if longer is None:
            return layer
        layer = longer
    return None


def _longer(layer: Layer, graph: Graph, steps: Mapping[Node, Step]) -> Layer | None:
    """The layer with the operation that follows it, maybe after reshapes.

    Only one that alone reads what is before it, for other readers would miss it, and none that
    another layer has.
    """
    user = graph.only_user(layer.output)
    while user is not None and user.op in RESHAPES and steps.get(user) is user:
        layer = layer.followed_by(user)
        user = graph.only_user(layer.output)
    if user is None or steps.get(user) is not user:
        return None
    operator = layer.operator
    try:
        if isinstance(operator, ProductOperator):
            return epilogues.with_node(layer, operator, user)
        if isinstance(operator, Elementwise):
            return elementwise.with_node(layer, operator, user)
    except UsageError:  # the operator has no such epilogue, as for a type of elements
        return None
    return None
