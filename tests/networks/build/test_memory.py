"""Memory between layers: planned once, and no checks of what has been checked."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from tests.networks.choices import defaults
from tests.networks.small import Residual, random_input, result_of, seeded, torch
from tunesmith.networks import from_torch
from tunesmith.networks.compiled import CompiledNetwork


class ReshapedResults(torch.nn.Module):  # type: ignore[misc]
    """Results that are views of what layers compute, one of which another layer reads as well."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(6, 8)
        self.second = torch.nn.Linear(8, 4)

    def forward(self, data: Any) -> Any:
        hidden = torch.relu(self.first(data))
        return hidden.reshape(2, 2, 4), self.second(hidden).reshape(8)


def built(model: Any, example: Any) -> CompiledNetwork:
    network = from_torch(seeded(model), example)
    return network.built(defaults(network))


def called(compiled: CompiledNetwork, *inputs: Any) -> Counter[str]:
    """What a call runs: how often each function by its name."""
    names: list[str] = []

    def watch(_: Any, name: str, before: bool, *_others: Any) -> int:
        if before:
            names.append(str(name))
        return 0

    compiled.watched(watch)(*inputs)
    return Counter(names)


def test_a_call_allocates_its_results_alone_and_checks_nothing() -> None:
    data = random_input(1, 3, 8, 8).numpy()
    compiled = built(Residual(), random_input(1, 3, 8, 8))
    names = called(compiled, data)
    layers = sum(count for name, count in names.items() if name.startswith("layer"))
    assert layers > 1
    assert names["vm.builtin.alloc_storage"] == names["vm.builtin.alloc_tensor"] == 1
    assert {name for name in names if name.startswith("vm.")} <= {
        "vm.builtin.alloc_storage",
        "vm.builtin.alloc_tensor",
        "vm.builtin.null_value",
        "vm.builtin.reshape",
    }


def test_buffers_are_aligned_and_share_memory() -> None:
    compiled = built(Residual(), random_input(1, 3, 8, 8))
    (entry,) = compiled.description.entries
    assert entry.buffers
    assert all(buffer.offset % 64 == 0 for buffer in entry.buffers)
    ends = [buffer.offset + buffer.argument.bytes for buffer in entry.buffers]
    assert max(ends) == compiled.description.buffer_bytes
    assert sum(buffer.argument.bytes for buffer in entry.buffers) > max(ends)


def test_results_that_are_views_stay_as_they_are() -> None:
    inputs = [random_input(2, 6) + number for number in range(3)]
    compiled = built(ReshapedResults(), inputs[0])
    found = [compiled(data.numpy()) for data in inputs]
    for data, results in zip(inputs, found, strict=True):
        for result, expected in zip(
            results, result_of(seeded(ReshapedResults()), data), strict=True
        ):
            np.testing.assert_allclose(result, expected.numpy(), 1e-5, 1e-6)
