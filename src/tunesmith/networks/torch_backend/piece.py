"""A part of a graph that our kernels compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tunesmith.networks.compiled import CompiledNetwork
from tunesmith.networks.graph import Graph, Value

# Their results are in the memory of their input.
_VIEWS = ("expand_dims", "flatten", "reshape", "squeeze")


class Piece(torch.nn.Module):  # type: ignore[misc]
    """Called like the part that it is of: it returns a tensor, or a tuple of several."""

    def __init__(self, compiled: CompiledNetwork, graph: Graph, results: Sequence[Any]) -> None:
        """``graph`` is the network's, ``results`` are fake tensors like those of PyTorch."""
        super().__init__()
        self._compiled = compiled
        shared = shared_outputs(graph)
        self._copied = {
            place: (fake.shape, fake.stride())
            for place, fake in enumerate(results)
            if place in shared or not fake.is_contiguous()
        }

    def forward(self, *inputs: Any) -> Any:
        found = self._compiled(*inputs)
        if not self._copied:
            return found
        if isinstance(found, torch.Tensor):
            return self._finished(0, found)
        return tuple(self._finished(place, each) for place, each in enumerate(found))

    def _finished(self, place: int, result: Any) -> Any:
        """A result in memory of its own, with PyTorch's strides."""
        layout = self._copied.get(place)
        if layout is None:
            return result
        return torch.empty_strided(*layout, dtype=result.dtype).copy_(result)


def shared_outputs(graph: Graph) -> set[int]:
    """The outputs in the memory of an input, of a constant, or of an output before them."""
    found, seen = set[int](), set[Value](graph.inputs)
    for place, value in enumerate(graph.outputs):
        memory = _memory(graph, value)
        if memory in seen or memory.constant is not None:
            found.add(place)
        seen.add(memory)
    return found


def _memory(graph: Graph, value: Value) -> Value:
    """The value whose memory one is in."""
    producer = graph.producers.get(value)
    while producer is not None and producer.op in _VIEWS:
        value = producer.inputs[0]
        producer = graph.producers.get(value)
    return value
