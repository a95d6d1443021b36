"""Named layers: the usual benchmarks of papers."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from tunesmith.errors import unknown_name
from tunesmith.operators._base.operator import Operator
from tunesmith.operators._conv2d import Conv2d
from tunesmith.operators._depthwise_conv2d import DepthwiseConv2d
from tunesmith.operators._matrix_products import BatchMatmul, Dense, Matmul

# The unique convolutions of ResNet-18 as NoSE lists them (Table II), batch 1, NCHW:
# height = width, input channels, output channels, kernel, stride, padding.
# The table gives its 1x1 layers padding 1; here they have none, as in the network.
_RESNET18 = {
    "C1": (224, 3, 64, 7, 2, 3),
    "C2": (56, 64, 64, 3, 1, 1),
    "C3": (56, 64, 64, 1, 1, 0),
    "C4": (56, 64, 128, 3, 2, 1),
    "C5": (56, 64, 128, 1, 2, 0),
    "C6": (28, 128, 128, 3, 1, 1),
    "C7": (28, 128, 256, 3, 2, 1),
    "C8": (28, 128, 256, 1, 2, 0),
    "C9": (14, 256, 256, 3, 1, 1),
    "C10": (14, 256, 512, 3, 2, 1),
    "C11": (14, 256, 512, 1, 2, 0),
    "C12": (7, 512, 512, 3, 1, 1),
}


def _resnet18() -> dict[str, Operator]:
    return {
        f"resnet18.{name}": Conv2d(
            ci=ci, h=size, w=size, co=co, kernel=kernel, stride=stride, padding=padding
        )
        for name, (size, ci, co, kernel, stride, padding) in _RESNET18.items()
    }


# The unique pairs of a depthwise 3x3 (padding 1) and a pointwise layer of MobileNetV1 at width 1
# and resolution 224: input height = width, input channels, stride of the depthwise layer, output
# channels of the pointwise layer. Pair 7 occurs five times in the network.
_MOBILENET = (
    (112, 32, 1, 64),
    (112, 64, 2, 128),
    (56, 128, 1, 128),
    (56, 128, 2, 256),
    (28, 256, 1, 256),
    (28, 256, 2, 512),
    (14, 512, 1, 512),
    (14, 512, 2, 1024),
    (7, 1024, 1, 1024),
)


def _mobilenet() -> dict[str, Operator]:
    layers: dict[str, Operator] = {}
    for index, (size, channels, stride, co) in enumerate(_MOBILENET, start=1):
        layers[f"mobilenet.dw{index}"] = DepthwiseConv2d(
            c=channels, h=size, w=size, kernel=3, stride=stride, padding=1
        )
        layers[f"mobilenet.pw{index}"] = Conv2d(
            ci=channels, h=size // stride, w=size // stride, co=co, kernel=1
        )
    return layers


def _opevo() -> dict[str, Operator]:
    """The operators of OpEvo's experiments (sections 5.1 to 5.3)."""
    return {
        "opevo.MM1": Matmul(m=512, k=1024, n=1024),
        "opevo.MM2": Matmul(m=512, k=1024, n=4096),
        "opevo.MM3": Matmul(m=512, k=4096, n=1024),
        "opevo.BMM.NN": BatchMatmul(b=960, m=128, k=128, n=64),
        "opevo.BMM.TN": BatchMatmul(b=960, m=128, k=128, n=64, transpose="TN"),
        "opevo.BMM.NT": BatchMatmul(b=960, m=128, k=64, n=128, transpose="NT"),
        "opevo.C1": Conv2d(n=512, ci=3, h=227, w=227, co=64, kernel=11, stride=4),
        "opevo.C2": Conv2d(n=512, ci=64, h=27, w=27, co=192, kernel=5, padding=2),
    }


def _matrices() -> dict[str, Operator]:
    square = {f"matmul.{size}": Matmul(m=size, n=size, k=size) for size in (512, 1024, 2048)}
    return square | {
        "dense.1x4096x1000": Dense(m=1, k=4096, n=1000),
        "dense.64x768x3072": Dense(m=64, k=768, n=3072),
    }


@functools.cache
def workloads() -> Mapping[str, Operator]:
    """All named layers, by name."""
    return _resnet18() | _mobilenet() | _matrices() | _opevo()


def workload_names() -> tuple[str, ...]:
    """The names of all layers."""
    return tuple(workloads())


def workload(name: str) -> Operator:
    """The layer called ``name``, such as ``resnet18.C8``.

    Raises ``UsageError`` for an unknown name.
    """
    layers = workloads()
    if name not in layers:
        raise unknown_name("layer", name, layers, listed_by="tunesmith operators")
    return layers[name]
