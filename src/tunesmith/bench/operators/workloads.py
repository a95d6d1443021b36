"""The workloads of ``tunesmith bench operators``."""

from __future__ import annotations

import dataclasses
import enum
import fnmatch
from collections.abc import Mapping, Sequence

from tunesmith.bench.operators.shapes import shape_workloads
from tunesmith.errors import unknown_name
from tunesmith.operators import (
    BatchMatmul,
    Conv2d,
    Dense,
    DepthwiseConv2d,
    Matmul,
    Operator,
    ProductOperator,
    workload,
)


class Suite(enum.Enum):
    """Lists of workloads: layers of networks with their variants, or shapes of other kinds."""

    LAYERS = "layers"
    SHAPES = "shapes"


FUSED = "+bias+relu"
"""What the name of a variant with bias and ReLU ends with."""

RESNET = tuple(f"resnet18.C{number}" for number in range(1, 13))
DEPTHWISE = tuple(f"mobilenet.dw{number}" for number in range(1, 10))
POINTWISE = tuple(f"mobilenet.pw{number}" for number in range(1, 10))
SQUARE = ("matmul.512", "matmul.1024", "matmul.2048")
OPEVO = ("opevo.MM1", "opevo.MM2", "opevo.MM3")
BATCHED = ("opevo.BMM.NN", "opevo.BMM.TN", "opevo.BMM.NT")
DENSE = ("dense.1x4096x1000", "dense.64x768x3072")

COMPARED_TUNERS = (*RESNET, *SQUARE)
"""Where TVM's own tuner is compared with ours, unless workloads are chosen."""

_ALL = (*RESNET, *DEPTHWISE, *POINTWISE, *SQUARE, *OPEVO, *BATCHED, *DENSE)


def operator_workloads(
    patterns: Sequence[str] = (), *, fused: bool = True, suite: Suite = Suite.LAYERS
) -> Mapping[str, Operator]:
    """The chosen workloads of a suite by name, all by default; a variant follows the plain one.

    A pattern is a name, or one with ``*``, ``?`` and ``[...]`` in it as in a shell; the name alone
    of a plain workload does not choose its variant. Weights of convolutions and dense layers are
    constant. Raises ``UsageError`` for a pattern that no workload fits.
    """
    known = _layers(fused=fused) if suite is Suite.LAYERS else shape_workloads()
    for pattern in patterns:
        if not fnmatch.filter(known, pattern):
            raise unknown_name("workload", pattern, known)
    return {
        name: operator
        for name, operator in known.items()
        if not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    }


def _layers(*, fused: bool) -> Mapping[str, Operator]:
    known: dict[str, Operator] = {}
    for name in _ALL:
        plain = _with_constant_weights(workload(name))
        known[name] = plain
        if fused:
            known[name + FUSED] = dataclasses.replace(plain, bias=True, relu=True)
    return known


def _with_constant_weights(operator: Operator) -> ProductOperator:
    assert isinstance(operator, Matmul | BatchMatmul | Conv2d | DepthwiseConv2d | Dense)
    if isinstance(operator, Matmul | BatchMatmul):
        return operator
    return dataclasses.replace(operator, constant_weights=True)
