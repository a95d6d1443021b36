"""A network as a graph of tensor operations, which simplifications rewrite and layers cover."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

Emit = Callable[[Sequence[Any]], Any]
"""Makes the Relax expression of a node, given those of its inputs."""


RESHAPES = ("reshape", "flatten", "expand_dims", "squeeze")
"""Operations that leave all elements where they are in memory."""


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor: an input of the network, the result of a node, or a ``constant``.

    ``shape`` has only numbers: a network with a dynamic batch is one graph for each size.
    """

    shape: tuple[int, ...]
    dtype: str
    name: str = ""
    constant: Array | None = None

    @classmethod
    def of(cls, array: Array, name: str = "") -> Value:
        """A constant."""
        return cls(tuple(array.shape), str(array.dtype), name, array)

    @cached_property
    def content(self) -> object:
        """What equal constants have in common, and no others."""
        array = np.ascontiguousarray(self.constant)
        digest = hashlib.sha256(array.reshape(-1).view(np.uint8).data).digest()
        return self.shape, self.dtype, digest

    @property
    def elements(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Node:
    """One operation, by Relax's name without ``relax.``, such as ``nn.conv2d``.

    ``attributes`` are plain Python values; ``emit`` makes the same operation in Relax again.
    """

    op: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    emit: Emit
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def output(self) -> Value:
        """The only output. Of several it is the first one."""
        return self.outputs[0]

    def with_inputs(self, inputs: Sequence[Value]) -> Node:
        """The same operation on other values, with the same outputs."""
        return Node(self.op, tuple(inputs), self.outputs, self.emit, self.attributes)


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in an order in which they can run."""

    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]

    @property
    def batch(self) -> int | None:
        """The first size of the first input; None if there is none."""
        return self.inputs[0].shape[0] if self.inputs and self.inputs[0].shape else None

    @cached_property
    def users(self) -> Mapping[Value, tuple[Node, ...]]:
        """The nodes that read a value, once for each time that they do."""
        found: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in node.inputs:
                found.setdefault(value, []).append(node)
        return {value: tuple(nodes) for value, nodes in found.items()}

    @cached_property
    def producers(self) -> Mapping[Value, Node]:
        """The node that makes a value; inputs and constants have none."""
        return {value: node for node in self.nodes for value in node.outputs}

    def only_user(self, value: Value) -> Node | None:
        """The node that alone reads a value, and reads it once; None if the network returns it."""
        users = self.users.get(value, ())
        return users[0] if len(users) == 1 and value not in self.outputs else None

    def without_dead_nodes(self) -> Graph:
        """Without nodes whose results nobody reads."""
        needed = set(self.outputs)
        kept: list[Node] = []
        for node in reversed(self.nodes):
            if needed.intersection(node.outputs):
                needed.update(node.inputs)
                kept.append(node)
        return Graph(self.inputs, tuple(reversed(kept)), self.outputs)


class Rewriting:
    """Makes a graph from another one: goes through its nodes, and keeps or replaces each."""

    def __init__(self, graph: Graph) -> None:
        self._old = graph
        self._nodes: list[Node] = []
        self._now: dict[Value, Value] = {}
        self._producers: dict[Value, Node] = {}

    def now(self, value: Value) -> Value:
        """What a value of the old graph is in the new one."""
        return self._now.get(value, value)

    def producer(self, value: Value) -> Node | None:
        """The node that makes a value of the new graph."""
        return self._producers.get(value)

    def readers(self, value: Value) -> int:
        """How often the old graph reads what a value of the new one stands for; results count."""
        stands_for = {old for old, now in self._now.items() if now is value} | {value}
        users, outputs = self._old.users, self._old.outputs
        return sum(len(users.get(old, ())) + outputs.count(old) for old in stands_for)

    def add(self, node: Node) -> Value:
        """Appends a node over values of the new graph; returns its first output."""
        self._nodes.append(node)
        self._producers.update(dict.fromkeys(node.outputs, node))
        return node.output

    def replace(self, old: Value, new: Value) -> None:
        """From here on ``new``, a value of the new graph, stands for ``old``."""
        self._now[old] = new

    def done(self) -> Graph:
        """The new graph, without dead nodes."""
        outputs = tuple(self.now(value) for value in self._old.outputs)
        return Graph(self._old.inputs, tuple(self._nodes), outputs).without_dead_nodes()


Rule = Callable[[Node, Rewriting], "Sequence[Value] | None"]
"""What a node's outputs are replaced with, in terms of the new graph; None keeps the node."""


def rewritten(graph: Graph, rule: Rule) -> Graph:
    """The graph after ``rule`` has seen each node, with its inputs replaced already."""
    rewriting = Rewriting(graph)
    for old in graph.nodes:
        node = old.with_inputs([rewriting.now(value) for value in old.inputs])
        outputs = rule(node, rewriting)
        if outputs is None:
            rewriting.add(node)
            continue
        for value, new in zip(old.outputs, outputs, strict=True):
            rewriting.replace(value, new)
    return rewriting.done()
