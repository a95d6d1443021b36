"""The deep Q-network (Mnih et al., Nature 518, 2015, methods): four frames of 84x84."""

from __future__ import annotations

from typing import Any

from tunesmith.networks.zoo.registry import ZooModel

_ACTIONS = 18


def _make() -> Any:
    from torch import nn

    return nn.Sequential(
        *(nn.Conv2d(4, 32, 8, 4), nn.ReLU()),
        *(nn.Conv2d(32, 64, 4, 2), nn.ReLU()),
        *(nn.Conv2d(64, 64, 3, 1), nn.ReLU()),
        nn.Flatten(),
        *(nn.Linear(64 * 7 * 7, 512), nn.ReLU()),
        nn.Linear(512, _ACTIONS),
    )


def _example(batch: int) -> tuple[Any, ...]:
    import torch

    return (torch.randn(batch, 4, 84, 84),)


dqn = ZooModel("deep Q-network", _make, _example)
