"""Layers with a name: those that the papers and the field measure on."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from tunesmith.errors import unknown_name
from tunesmith.operators._conv2d import Conv2d
from tunesmith.operators._matmul import Matmul
from tunesmith.operators._operator import Operator

# The unique convolutions of ResNet-18 as NoSE lists them (Table II), batch 1, NCHW:
# height = width, input channels, output channels, kernel, stride, padding.
# The table gives its 1x1 layers padding 1, unlike the network, and its spaces have the sizes
# that follow from that; the layers are taken as printed.
_RESNET18 = {
    "C1": (224, 3, 64, 7, 2, 3),
    "C2": (56, 64, 64, 3, 1, 1),
    "C3": (56, 64, 64, 1, 1, 1),
    "C4": (56, 64, 128, 3, 2, 1),
    "C5": (56, 64, 128, 1, 2, 1),
    "C6": (28, 128, 128, 3, 1, 1),
    "C7": (28, 128, 256, 3, 2, 1),
    "C8": (28, 128, 256, 1, 2, 1),
    "C9": (14, 256, 256, 3, 1, 1),
    "C10": (14, 256, 512, 3, 2, 1),
    "C11": (14, 256, 512, 1, 2, 1),
    "C12": (7, 512, 512, 3, 1, 1),
}


def _resnet18() -> dict[str, Operator]:
    return {
        f"resnet18.{name}": Conv2d(
            ci=ci, h=size, w=size, co=co, kernel=kernel, stride=stride, padding=padding
        )
        for name, (size, ci, co, kernel, stride, padding) in _RESNET18.items()
    }


def _square_matmuls() -> dict[str, Operator]:
    return {f"matmul.{size}": Matmul(m=size, n=size, k=size) for size in (512, 1024, 2048)}


@functools.cache
def workloads() -> Mapping[str, Operator]:
    """All named layers, by name."""
    return _resnet18() | _square_matmuls()


def workload_names() -> tuple[str, ...]:
    """The names of all layers that ``workload`` knows."""
    return tuple(workloads())


def workload(name: str) -> Operator:
    """The layer called ``name``, such as ``resnet18.C8``.

    Raises ``UsageError`` for an unknown name.
    """
    layers = workloads()
    if name not in layers:
        raise unknown_name("layer", name, layers)
    return layers[name]
