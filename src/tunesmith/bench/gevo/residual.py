"""A residual block in PyTorch, of which the networks of the cases are made."""

from __future__ import annotations

from typing import Any


def residual_block(torch: Any, channels: int) -> Any:
    """A module that adds to its input what two convolutions of 3x3 pixels make of it; shape (batch,
    channels, height, width) in and out."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(channels, channels, 3, padding=1)
            self.second = nn.Conv2d(channels, channels, 3, padding=1)

        def forward(self, x: Any) -> Any:
            return nn.functional.relu(x + self.second(nn.functional.relu(self.first(x))))

    return Block()
