"""The generator of DCGAN (Radford et al., arXiv 1511.06434, figure 1): images of 64x64."""

from __future__ import annotations

from typing import Any

from tunesmith.networks.zoo.registry import ZooModel

_CHANNELS = (1024, 512, 256, 128)
_NOISE = 100


def _make() -> Any:
    from torch import nn

    layers, inputs = [], _NOISE
    for number, channels in enumerate(_CHANNELS):
        stride, padding = (1, 0) if number == 0 else (2, 1)
        layers += [
            nn.ConvTranspose2d(inputs, channels, 4, stride, padding, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
        ]
        inputs = channels
    return nn.Sequential(*layers, nn.ConvTranspose2d(inputs, 3, 4, 2, 1, bias=False), nn.Tanh())


def _example(batch: int) -> tuple[Any, ...]:
    import torch

    return (torch.randn(batch, _NOISE, 1, 1),)


dcgan = ZooModel("generator of DCGAN", _make, _example)
