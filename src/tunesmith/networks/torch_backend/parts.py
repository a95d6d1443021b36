"""The parts of a captured graph that may become networks, each as a module of its own."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from tunesmith.errors import UsageError
from tunesmith.networks.indices import unchecked_look_ups
from tunesmith.networks.layers.layer import Layer
from tunesmith.networks.models import from_torch
from tunesmith.networks.network import Network
from tunesmith.networks.torch_backend.support import (
    UNCHECKED,
    Refused,
    is_constant,
    leave_views,
)
from tunesmith.target import Target

# What PyTorch has kernels for, and we plain loops, where no operator of ours covers it.
_SLOW = frozenset(
    {
        "argsort",
        "cumprod",
        "cumsum",
        "einsum",
        "image.grid_sample",
        "image.resize2d",
        "matmul",
        "median",
        "nn.attention",
        "nn.attention_bias",
        "nn.conv1d",
        "nn.conv1d_transpose",
        "nn.conv2d",
        "nn.conv2d_transpose",
        "nn.conv3d",
        "nn.conv3d_transpose",
        "sort",
        "topk",
        "vision.roi_align",
    }
)


@dataclass(frozen=True)
class Part:
    """A module of supported operations: its weights are its own, ``examples`` are like its inputs.

    ``results`` are fake tensors, with the shapes and strides that PyTorch gives the results.
    """

    module: GraphModule
    examples: Sequence[Any]
    results: Sequence[Any]

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of its operations, which are those of the graph that it is of."""
        return tuple(node.name for node in self._operations)

    @property
    def _operations(self) -> list[Node]:
        return [node for node in self.module.graph.nodes if node.op == "call_function"]

    @property
    def text(self) -> str:
        """What it computes: another part of the same graph and text is the same."""
        return str(self.module.graph)

    @property
    def kind(self) -> str:
        """What tells a part of one operation from others: the operation, and what it reads."""
        node = self._operations[0]
        read = [(list(each.shape), each.stride(), each.dtype) for each in self.examples]
        plain = map_arg((node.args, node.kwargs), lambda each: each.op)
        return f"{node.target} {plain} {read}"

    def network(self, target: Target) -> Network:
        """The network that computes the part.

        Raises ``UsageError`` where there is none, and where it would be wrong, unsafe or slow. TVM
        may raise anything.
        """
        network = from_torch(self.module, self.examples, target)
        (covered,) = network.graphs
        if unchecked_look_ups(covered.graph):
            raise UsageError(UNCHECKED)
        found = [(value.shape, value.dtype) for value in covered.graph.outputs]
        expected = [
            (tuple(fake.shape), str(fake.dtype).removeprefix("torch.")) for fake in self.results
        ]
        if found != expected:
            raise UsageError("TVM gives it another shape or type")
        rest = [step.op for step in covered.steps if not isinstance(step, Layer)]
        if not _SLOW.isdisjoint(rest):
            raise UsageError("PyTorch has a faster kernel for it")
        return network

    def alone(self) -> Mapping[str, Part]:
        """Each of its operations as a part of its own, by name."""
        return {
            node.name: self._of(node)
            for node in self._operations
            if node.target is not operator.getitem and node.all_input_nodes
        }

    def _of(self, node: Node) -> Part:
        graph, examples = Graph(), []
        now: dict[Node, Node] = {}
        for given in node.all_input_nodes:
            if given.op == "get_attr":
                now[given] = graph.get_attr(given.target)
            else:
                now[given] = graph.placeholder(given.name)
                examples.append(_example(given.meta["val"]))
        made = graph.node_copy(node, now.__getitem__)
        value = node.meta["val"]
        if isinstance(value, torch.Tensor):
            results = [made]
            fakes = [value]
        else:
            places = [place for place, each in enumerate(value) if isinstance(each, torch.Tensor)]
            results = [graph.call_function(operator.getitem, (made, place)) for place in places]
            fakes = [value[place] for place in places]
        graph.output(results[0] if len(results) == 1 else tuple(results))
        return Part(GraphModule(self.module, graph), examples, fakes)


def divided(module: GraphModule, refused: Refused) -> tuple[GraphModule, dict[str, Part]]:
    """A copy of a graph that calls its parts, and these by the names of its submodules."""

    def is_ours(node: Node) -> bool:
        left = node.name in refused or node.meta.get("is_left", False)
        return node.op == "call_function" and not left

    graph = Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    whole = GraphModule(module, graph)
    leave_views(graph, is_ours)
    whole.recompile()
    partitioner = CapabilityBasedPartitioner(
        whole, _Support(is_ours), allows_single_node_partition=True
    )
    whole = partitioner.fuse_partitions(partitioner.propose_partitions())
    calls = whole.graph.find_nodes(op="call_module")
    parts = {call.target: _part(call, getattr(whole, call.target)) for call in calls}
    whole.graph.eliminate_dead_code()  # constants that parts have now
    whole.recompile()
    return whole, parts


class _Support(OperatorSupportBase):  # type: ignore[misc]
    def __init__(self, is_ours: Any) -> None:
        self._is_ours = is_ours

    def is_node_supported(self, submodules: Any, node: Node) -> bool:  # noqa: ARG002
        return bool(self._is_ours(node))


def _part(call: Node, module: GraphModule) -> Part:
    """The part that a node calls, once the constants that the node gives it are its own."""
    whole = call.graph.owning_module
    placeholders = module.graph.find_nodes(op="placeholder")
    given = []
    for argument, placeholder in zip(call.args, placeholders, strict=True):
        if not is_constant(argument):
            given.append(argument)
            continue
        module.register_buffer(placeholder.name, _value(whole, argument))
        with module.graph.inserting_before(placeholder):
            constant = module.graph.get_attr(placeholder.name)
        constant.meta = placeholder.meta
        placeholder.replace_all_uses_with(constant)
        module.graph.erase_node(placeholder)
    call.args = tuple(given)
    module.recompile()
    (output,) = module.graph.find_nodes(op="output")
    return Part(
        module,
        [_example(argument.meta["val"]) for argument in given],
        [node.meta["val"] for node in output.all_input_nodes],
    )


def _value(module: Any, constant: Node) -> Any:
    """The tensor of a weight, or of an operation that makes the same one in each call."""
    if constant.op == "call_function":
        return constant.target(*constant.args, **constant.kwargs)
    for name in constant.target.split("."):
        module = getattr(module, name)
    return module


def _example(fake: Any) -> Any:
    """A tensor with the shape and strides of a fake one."""
    return torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype)
