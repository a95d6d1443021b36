"""MobileNet v1 (Howard et al., arXiv 1704.04861, table 1)."""

from __future__ import annotations

from typing import Any

from tunesmith.networks.zoo.registry import ZooModel

# Channels and stride of each depthwise separable convolution.
_BLOCKS = (
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *((512, 1),) * 5,
    (1024, 2),
    (1024, 1),
)


def _convolution(inputs: int, outputs: int, kernel: int, stride: int, groups: int = 1) -> Any:
    from torch import nn

    padding = kernel // 2
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


def _make() -> Any:
    from torch import nn

    layers, channels = [_convolution(3, 32, 3, 2)], 32
    for outputs, stride in _BLOCKS:
        layers.append(_convolution(channels, channels, 3, stride, groups=channels))
        layers.append(_convolution(channels, outputs, 1, 1))
        channels = outputs
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000)]
    return nn.Sequential(*layers, *head)


def _example(batch: int) -> tuple[Any, ...]:
    import torch

    return (torch.randn(batch, 3, 224, 224),)


mobilenet_v1 = ZooModel("MobileNet v1", _make, _example)
