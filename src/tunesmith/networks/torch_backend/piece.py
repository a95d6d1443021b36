"""A part of a graph that our kernels compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tunesmith.networks.compiled import CompiledNetwork


class Piece(torch.nn.Module):  # type: ignore[misc]
    """Called like the part that it is of: it returns a tensor, or a tuple of several."""

    def __init__(self, compiled: CompiledNetwork, results: Sequence[Any]) -> None:
        """``results`` are fake tensors like those of PyTorch."""
        super().__init__()
        self._compiled = compiled
        self._copied = {
            place: (fake.shape, fake.stride())
            for place, fake in enumerate(results)
            if not fake.is_contiguous()
        }

    def forward(self, *inputs: Any) -> Any:
        found = self._compiled(*inputs)
        if not self._copied:
            return found
        if isinstance(found, torch.Tensor):
            return self._finished(0, found)
        return tuple(self._finished(place, each) for place, each in enumerate(found))

    def _finished(self, place: int, result: Any) -> Any:
        """A result with PyTorch's strides."""
        layout = self._copied.get(place)
        if layout is None:
            return result
        return torch.empty_strided(*layout, dtype=result.dtype).copy_(result)
