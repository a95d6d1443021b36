"""Small networks of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="networks of PyTorch need PyTorch")


class Residual(torch.nn.Module):  # type: ignore[misc]
    """A block of ResNet between a first convolution and a classifier."""

    def __init__(self, channels: int = 8) -> None:
        super().__init__()
        nn = torch.nn
        self.first = nn.Conv2d(3, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.second_norm = nn.BatchNorm2d(channels)
        self.classifier = nn.Linear(channels, 5)

    def forward(self, data: Any) -> Any:
        relu = torch.nn.functional.relu
        first = relu(self.norm(self.first(data)))
        second = relu(self.second_norm(self.second(first)) + first)
        return self.classifier(second.mean((2, 3)))


class SeveralResults(torch.nn.Module):  # type: ignore[misc]
    """Parts that no operator covers, and three results of different shapes."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(6, 8)

    def forward(self, data: Any) -> Any:
        left, right = self.linear(data).chunk(2, 1)
        return torch.cos(left), torch.cat([right, left], 1), torch.sin(left)


class Function(torch.nn.Module):  # type: ignore[misc]
    """A function of tensors as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def seeded(model: Any) -> Any:
    """The model for inference, with random weights and statistics that are the same each time."""
    torch.manual_seed(0)
    for name, tensor in model.state_dict().items():
        if "num_batches" not in name:
            tensor.copy_(torch.rand_like(tensor) + (0.5 if "var" in name else -0.5))
    return model.eval()


def random_input(*shape: int) -> Any:
    """A tensor with numbers in [-1, 1)."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(1)) * 2 - 1


def result_of(model: Any, *inputs: Any) -> Any:
    """What PyTorch computes."""
    with torch.no_grad():
        return model(*inputs)
