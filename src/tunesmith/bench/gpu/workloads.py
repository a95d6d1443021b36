"""The workloads of ``tunesmith bench gpu``, and the small operators that its sketches are tried on.

A name may be followed by what is different of the operator: ``matmul.1024+bfloat16``.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tunesmith.bench.operators.workloads import BATCHED, RESNET, operator_workloads
from tunesmith.errors import unknown_name
from tunesmith.operators import (
    Operator,
    adaptive_pool2d,
    batch_matmul,
    conv2d,
    conv2d_transpose,
    dense,
    depthwise_conv2d,
    elementwise,
    embedding,
    gru,
    layer_norm,
    lstm,
    matmul,
    pool2d,
    reduce,
    softmax,
)

T = TypeVar("T")

SQUARE = ("matmul.1024", "matmul.2048", "matmul.4096")
BFLOAT = tuple(f"{name}+bfloat16" for name in SQUARE)
HALF = ("matmul.4096+float16",)
HALF_LAYERS = tuple(f"resnet18.{layer}+float16+NHWC" for layer in ("C2", "C6", "C9", "C12"))

_KINDS = (RESNET, SQUARE, BFLOAT, BATCHED, (*HALF, *HALF_LAYERS))

RECORDED = "resnet18.C12"
"""The layer whose space is recorded: the one that the NoSE paper measured as a whole."""

RECORDED_SKETCH = "cuda_conv2d_direct"
"""The sketch with the space of that paper."""

DTYPES = ("float32", "float16", "bfloat16")


def gpu_workloads() -> Mapping[str, Operator]:
    """All workloads by name, kind by kind.

    Weights of layers are constant, as in ``operator_workloads``.
    """
    plain = operator_workloads((*RESNET, *BATCHED), fused=False)
    squares: dict[str, Operator] = {
        name: matmul(m=size, n=size, k=size)
        for name, size in zip(SQUARE, (1024, 2048, 4096), strict=True)
    }
    known = {name: plain[name] for name in RESNET} | squares
    known |= {name: plain[name] for name in BATCHED}
    for name in (*BFLOAT, *HALF, *HALF_LAYERS):
        origin, *changes = name.split("+")
        known[name] = dataclasses.replace(known[origin], **_options(changes))
    return known


def _in_turn(groups: Iterable[Sequence[T]]) -> list[T]:
    """The first of each group, then the second ones, and so on."""
    rounds = itertools.zip_longest(*groups)
    return [one for each in rounds for one in each if one is not None]


def _options(changes: Sequence[str]) -> dict[str, Any]:
    return {"layout" if change == "NHWC" else "dtype": change for change in changes}


def chosen_workloads(patterns: Sequence[str]) -> Mapping[str, Operator]:
    """Those whose names fit one of the patterns, as in a shell, in the order to do them: one of
    each kind in turn, so that what time does not suffice for is a part of each.

    Raises ``UsageError`` for a pattern that no workload fits.
    """
    known = gpu_workloads()
    for pattern in patterns:
        if not fnmatch.filter(known, pattern):
            raise unknown_name("workload", pattern, known)
    return {
        name: known[name]
        for name in _in_turn(_KINDS)
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    }


def small_operators() -> list[Operator]:
    """One operator or more of each kind, in each type: sizes with few divisors and with many, all
    that can come after a sum, and what is particular to a sketch (tiles of 16, windows of 3)."""
    return _in_turn(map(_small_operators, DTYPES))


def _small_operators(dtype: str) -> list[Operator]:
    return [
        matmul(m=64, n=96, k=128, dtype=dtype),
        matmul(m=33, n=41, k=37, bias=True, relu=True, residual=True, dtype=dtype),
        batch_matmul(b=4, m=32, n=32, k=64, dtype=dtype),
        batch_matmul(b=3, m=17, n=24, k=20, transpose="TN", dtype=dtype),
        batch_matmul(b=2, m=40, n=36, k=50, transpose="NT", bias=True, dtype=dtype),
        dense(m=4, n=64, k=128, bias=True, relu=True, dtype=dtype),
        conv2d(ci=32, h=14, w=14, co=64, kernel=3, padding=1, dtype=dtype),
        conv2d(
            n=2, ci=16, h=13, w=11, co=24, kernel=3, padding=1, bias=True, relu=True,
            constant_weights=True, dtype=dtype,
        ),
        conv2d(ci=24, h=15, w=12, co=40, kernel=1, stride=2, residual=True, dtype=dtype),
        conv2d(ci=5, h=12, w=12, co=9, kernel=3, stride=2, padding=1, layout="NHWC", dtype=dtype),
        depthwise_conv2d(c=10, h=9, w=12, kernel=3, padding=1, dtype=dtype),
        conv2d_transpose(ci=6, h=5, w=6, co=8, kernel=3, stride=2, padding=1, dtype=dtype),
        pool2d(kind="max", c=6, h=11, w=9, kernel=3, stride=2, padding=1, dtype=dtype),
        pool2d(
            kind="avg", c=6, h=10, w=9, kernel=3, stride=2, padding=1, ceil_mode=True, dtype=dtype
        ),
        conv2d(ci=5, h=8, w=7, co=9, kernel=3, stride=2, padding=(0, 0, 1, 2), dtype=dtype),
        adaptive_pool2d(c=6, h=9, w=10, output_size=(4, 3), dtype=dtype),
        reduce(outer=6, n=40, dtype=dtype),
        reduce(n=65, inner=12, kind="max", dtype=dtype),
        softmax(m=19, n=131, dtype=dtype),
        layer_norm(m=12, n=96, dtype=dtype),
        elementwise(n=2, c=5, inner=49, post_ops="scale+shift+add+silu", dtype=dtype),
        embedding(n=7, rows=19, width=36, dtype=dtype),
        lstm(steps=3, b=3, units=37, constant_weights=True, dtype=dtype),
        gru(steps=2, b=5, units=32, reverse=True, dtype=dtype),
    ]  # fmt: skip
