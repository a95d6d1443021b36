"""Networks of residual blocks in PyTorch, which the cases are about."""

from __future__ import annotations

from typing import Any

import numpy as np

from tunesmith.errors import MissingDependencyError

_EPOCHS, _BATCH, _RATE = 30, 64, 2e-3
_LEFT_OUT = 0.2


def torch_on_one_thread() -> Any:
    """PyTorch, whose threads would wait for each other where cores are busy.

    Raises ``MissingDependencyError`` where it is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingDependencyError(
            "this case needs PyTorch: pip install 'tunesmith[neural]'"
        ) from error
    torch.set_num_threads(1)
    return torch


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


def trained_network(x: Any, y: Any, channels: int, blocks: int) -> list[Any]:
    """The parameters of a network that has learned images, shape (count, 1, 8, 8), and their
    classes: kernels and biases of the first convolution, of the two of each block, and of the last
    layer, shape (channels * 16, 10).

    A block is left out of a step with a chance of 0.2: stochastic depth (Huang, Sun, Liu, Sedra and
    Weinberger, 2016). Raises ``MissingDependencyError`` without PyTorch.
    """
    torch = torch_on_one_thread()
    torch.manual_seed(0)
    chance = np.random.default_rng(0)
    nn = torch.nn

    first = nn.Sequential(nn.Conv2d(1, channels, 3, padding=1), nn.ReLU())
    residual = nn.ModuleList(residual_block(torch, channels) for _ in range(blocks))
    last = nn.Sequential(nn.MaxPool2d(2), nn.Flatten(), nn.Linear(channels * 16, 10))
    parameters = [each for part in (first, residual, last) for each in part.parameters()]
    optimizer = torch.optim.Adam(parameters, _RATE)
    images, classes = torch.from_numpy(x), torch.from_numpy(y)
    with torch.enable_grad():  # whatever this process has been set up for
        for epoch in range(_EPOCHS):
            order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
            for chosen in order.split(_BATCH):
                value = first(images[chosen])
                for block in residual:
                    value = value if chance.random() < _LEFT_OUT else block(value)
                optimizer.zero_grad()
                nn.functional.cross_entropy(last(value), classes[chosen]).backward()
                optimizer.step()
    arrays = [each.detach().numpy() for each in parameters]
    arrays[-2] = np.ascontiguousarray(arrays[-2].T)
    return arrays
