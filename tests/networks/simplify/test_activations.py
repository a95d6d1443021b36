"""Maxima and minima with a number."""

from __future__ import annotations

from typing import Any

from tests.networks.choices import defaults
from tests.networks.small import random_input, result_of, torch
from tunesmith.networks import from_torch


class Model(torch.nn.Module):  # type: ignore[misc]
    def forward(self, whole: Any, data: Any) -> Any:
        one = torch.ones(1, 1, 1)
        return (
            torch.maximum(whole, torch.tensor(2)),
            torch.minimum(torch.maximum(whole, torch.tensor(2)), torch.tensor(5)),
            whole.clamp(min=-1),
            whole.clamp(max=4),
            torch.maximum(data, one),
            torch.minimum(one, data),
        )


def test_integers_and_other_axes_stay() -> None:
    """A clip may have infinite bounds, which no integer is, and the shape of what is clipped."""
    whole, data = torch.arange(-3, 9).reshape(3, 4), random_input(3, 4) * 2
    network = from_torch(Model(), (whole, data))
    assert "clip" not in {node.op for node in network.graphs[0].graph.nodes}
    found = network.built(defaults(network))(whole, data)
    for ours, theirs in zip(found, result_of(Model(), whole, data), strict=True):
        torch.testing.assert_close(ours, theirs)
