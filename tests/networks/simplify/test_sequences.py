"""Convolutions of sequences."""

from __future__ import annotations

from typing import Any

from tests.networks.choices import defaults
from tests.networks.small import random_input, result_of, seeded, torch
from tunesmith.networks import from_torch
from tunesmith.networks.layers.layer import Layer


class Model(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        nn = torch.nn
        self.plain, self.norm = (
            nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2),
            nn.BatchNorm1d(6),
        )
        self.grouped = nn.Conv1d(4, 6, 3, groups=2, bias=False)
        self.depthwise = nn.Conv1d(4, 8, 5, padding="same", groups=4)
        self.transposed = nn.ConvTranspose1d(4, 5, 3, stride=2, padding=1, output_padding=1)

    def forward(self, data: Any) -> Any:
        plain = torch.relu(self.norm(self.plain(data)))
        return plain, self.grouped(data), self.depthwise(data), self.transposed(data)


def test_they_are_layers_and_right() -> None:
    model, data = seeded(Model()), random_input(2, 4, 11)
    network = from_torch(model, data)
    assert [layer.operator.label for layer in network.layers] == [
        "conv2d(n=2, ci=4, h=1, w=11, co=6, kernel=1x3, stride=1x2, padding=0x2, dilation=1x2, "
        "bias=true, relu=true, constant_weights=true)",
        "conv2d(n=2, ci=4, h=1, w=11, co=6, kernel=1x3, groups=2, constant_weights=true)",
        "depthwise_conv2d(n=2, c=4, h=1, w=11, multiplier=2, kernel=1x5, padding=0x2, bias=true, "
        "constant_weights=true)",
        "conv2d_transpose(n=2, ci=4, h=1, w=11, co=5, kernel=1x3, stride=1x2, padding=0x1, "
        "output_padding=0x1, bias=true, constant_weights=true)",
    ]
    assert {step.op for step in network.steps if not isinstance(step, Layer)} <= {"reshape"}
    compiled = network.built(defaults(network))
    for found, expected in zip(compiled(data), result_of(model, data), strict=True):
        torch.testing.assert_close(found, expected)


def test_weights_that_are_inputs() -> None:
    class Of(torch.nn.Module):  # type: ignore[misc]
        def forward(self, data: Any, weights: Any) -> Any:
            return torch.nn.functional.conv1d(data, weights, padding=1)

    inputs = random_input(2, 4, 11), random_input(6, 4, 3)
    network = from_torch(Of(), inputs)
    assert [layer.operator.name for layer in network.layers] == ["conv2d"]
    found = network.built(defaults(network))(*inputs)
    torch.testing.assert_close(found, result_of(Of(), *inputs))
