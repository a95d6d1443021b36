"""Batch norm whose convolution others read, too."""

from __future__ import annotations

from typing import Any

import pytest

from tests.networks.choices import defaults
from tests.networks.small import random_input, result_of, seeded, torch
from tunesmith.networks import from_torch


class Model(torch.nn.Module):  # type: ignore[misc]
    """Which other readers there are: of the sums with the bias or without, or none."""

    def __init__(self, bias: bool, reader: str) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 4, 3, bias=bias)
        self.norm, self.second = torch.nn.BatchNorm2d(4), torch.nn.BatchNorm2d(4)
        self.reader = reader

    def forward(self, data: Any) -> Any:
        found = self.convolution(data)
        normalised = self.second(self.norm(found))
        if self.reader == "node":
            return normalised, found.tanh()
        return (normalised, found) if self.reader == "result" else normalised


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("reader", ["node", "result", "none"])
def test_a_convolution_is_computed_once(bias: bool, reader: str) -> None:
    model, data = seeded(Model(bias, reader)), random_input(1, 3, 6, 6)
    network = from_torch(model, data)
    names = [layer.operator.name for layer in network.layers]
    assert names.count("conv2d") == 1
    assert len(names) == {"node": 3, "result": 2, "none": 1}[reader]
    found, expected = network.built(defaults(network))(data), result_of(model, data)
    if reader == "none":
        found, expected = (found,), (expected,)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs)
