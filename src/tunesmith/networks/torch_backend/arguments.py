"""What the arguments of a captured graph are: weights, numbers and inputs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch

SCALAR = "item"
"""The method by which a graph reads the number in a tensor."""


@dataclass(frozen=True)
class Arguments:
    """The positions of a graph's arguments by kind.

    ``weights`` are parameters and buffers of modules. ``numbers`` are integers, and floats in
    tensors without a shape, which programs have as constants. The ``inputs`` are what is left.
    With ``dynamic`` the shapes of inputs differ from call to call.
    """

    weights: tuple[int, ...]
    numbers: tuple[int, ...]
    inputs: tuple[int, ...]
    dynamic: bool

    @classmethod
    def of(cls, graph_module: Any) -> Self:
        """Those of a graph of TorchDynamo."""
        weights, numbers, inputs = list[int](), list[int](), list[int]()
        dynamic = False
        for place, node in enumerate(graph_module.graph.find_nodes(op="placeholder")):
            example = node.meta.get("example_value")
            if _is_number(node, example):
                numbers.append(place)
            elif node.meta.get("tensor_dict", {}).get("_dynamo_static_input_type"):
                weights.append(place)
            else:
                inputs.append(place)
                dynamic |= isinstance(example, torch.Tensor) and _is_symbolic(example)
        return cls(tuple(weights), tuple(numbers), tuple(inputs), dynamic or bool(numbers))

    def key(self, values: Sequence[Any]) -> Hashable:
        """What a program is for: arguments of the same key can share one."""
        if not self.dynamic:
            return None
        shapes = [
            (value.shape, value.stride()) if isinstance(value, torch.Tensor) else value
            for value in map(values.__getitem__, self.inputs)
        ]
        return (*shapes, *(number(values[place]) for place in self.numbers))


def number(value: Any) -> Any:
    """A number, which may be in a tensor."""
    return value.item() if isinstance(value, torch.Tensor) else value


def _is_number(node: Any, example: Any) -> bool:
    """Whether an argument is an integer, or a tensor of which only the number is read."""
    if not isinstance(example, torch.Tensor):
        return isinstance(example, int | float | torch.SymInt | torch.SymFloat)
    methods = [(user.op, user.target) for user in node.users]
    return example.dim() == 0 and bool(methods) and set(methods) == {("call_method", SCALAR)}


def _is_symbolic(tensor: Any) -> bool:
    return any(isinstance(size, torch.SymInt) for size in (*tensor.shape, *tensor.stride()))
