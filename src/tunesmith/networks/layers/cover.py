"""Covers a graph with layers."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

from tunesmith.errors import UsageError
from tunesmith.networks.graph import Graph, Node
from tunesmith.networks.layers.convolutions import match_conv2d, match_conv2d_transpose
from tunesmith.networks.layers.epilogues import with_epilogue
from tunesmith.networks.layers.layer import Layer
from tunesmith.networks.layers.pooling import match_pool2d
from tunesmith.networks.layers.products import match_matmul, match_matmul_nt
from tunesmith.networks.layers.rows import match_layer_norm, match_softmax

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
    "matmul": match_matmul,
    "matmul_nt": match_matmul_nt,
    "nn.avg_pool2d": match_pool2d,
    "nn.conv2d": match_conv2d,
    "nn.conv2d_transpose": match_conv2d_transpose,
    "nn.layer_norm": match_layer_norm,
    "nn.max_pool2d": match_pool2d,
    "nn.softmax": match_softmax,
}


def covered(graph: Graph) -> CoveredGraph:
    """The graph with its nodes made layers, where an operator of ours covers them.

    A layer of several nodes is where the last of them was: all that it reads is there by then.
    """
    steps: dict[Node, Step] = {node: node for node in graph.nodes}
    taken: set[Node] = set()
    for node in graph.nodes:
        if node in taken:
            continue
        layer = _layer(node, graph, taken)
        if layer is None:
            continue
        taken.update(layer.covers)
        for covered_node in layer.covers:
            del steps[covered_node]
        steps[layer.covers[-1]] = layer
    return CoveredGraph(graph, tuple(steps[node] for node in graph.nodes if node in steps))


def _layer(node: Node, graph: Graph, taken: Container[Node]) -> Layer | None:
    matcher = _MATCHERS.get(node.op)
    if matcher is None:
        return None
    try:
        layer = matcher(node)
    except UsageError:  # an operator of ours, but with a shape or a type that it does not have
        return None
    return None if layer is None else with_epilogue(layer, graph, taken)
