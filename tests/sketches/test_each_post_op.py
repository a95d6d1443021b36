"""Each post-op in a small program of each sketch of products."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tests.emulated import needs_compiler
from tunesmith.operators import (
    POST_OPS,
    Operator,
    conv2d,
    conv2d_transpose,
    dense,
    depthwise_conv2d,
)
from tunesmith.sketches.registry import SKETCHES
from tunesmith.target import Target
from tunesmith.testing.sketch import mismatch_of

NAMES = [name for name in POST_OPS.names() if POST_OPS.get(name).bounded]
NUMBERS = {"clip": ":-0.5:1", "affine": ":0.125:0.5"}

_IMAGE: dict[str, Any] = {"ci": 3, "h": 5, "w": 6, "co": 20, "bias": True}


def _conv2d(post_ops: str) -> Operator:
    return conv2d(kernel=3, padding=1, constant_weights=True, post_ops=post_ops, **_IMAGE)


def _depthwise(post_ops: str) -> Operator:
    return depthwise_conv2d(c=3, h=5, w=20, kernel=3, padding=1, bias=True, post_ops=post_ops)


def _transpose(post_ops: str) -> Operator:
    return conv2d_transpose(kernel=4, stride=2, padding=1, post_ops=post_ops, **_IMAGE)


def _dense(post_ops: str) -> Operator:
    return dense(m=3, n=19, k=5, bias=True, post_ops=post_ops)


def _halves(post_ops: str) -> Operator:
    return dense(m=16, n=24, k=16, bias=True, dtype="float16", post_ops=post_ops)


Makes = Callable[[str], Operator]

# Those of which each post-op is in the default run, and the others, of which each is in one.
FULLY_ON_CPUS: dict[str, Makes] = {"cpu_gemm": _dense, "cpu_tiled": _dense}
IN_TURN_ON_CPUS: dict[str, Makes] = {
    "cpu_im2col": _conv2d,
    "cpu_direct": _conv2d,
    "cpu_depthwise": _depthwise,
    "cpu_winograd": _conv2d,
    "cpu_transpose": _transpose,
}
# The same for GPUs, whose others are in sweeps alone.
FULLY_ON_GPUS: dict[str, Makes] = {"cuda_tiled": _dense}
IN_SWEEPS_ON_GPUS: dict[str, Makes] = {"cuda_tensor_gemm": _halves, "cuda_winograd": _conv2d}


def _on_cpus() -> list[Any]:
    default = [(sketch, name) for sketch in FULLY_ON_CPUS for name in NAMES]
    in_turn = itertools.cycle(IN_TURN_ON_CPUS)
    default += list(zip(in_turn, NAMES, strict=False))
    every = itertools.product(FULLY_ON_CPUS | IN_TURN_ON_CPUS, NAMES)
    return [_case(*each, is_default=each in default) for each in every]


def _on_gpus() -> list[Any]:
    every = itertools.product(FULLY_ON_GPUS | IN_SWEEPS_ON_GPUS, NAMES)
    return [_case(*each, is_default=each[0] in FULLY_ON_GPUS) for each in every]


def _case(sketch: str, name: str, *, is_default: bool) -> Any:
    marks = () if is_default else pytest.mark.thorough
    return pytest.param(sketch, name, id=f"{sketch}-{name}", marks=marks)


def check(sketch_name: str, target: Target, operator: Operator) -> None:
    sketch = SKETCHES.get(sketch_name)
    assert sketch.supports(operator, target)
    config = sketch.default(operator, target)
    program = sketch.program(operator, target, config)
    assert mismatch_of(program, operator, config, target) is None


@pytest.mark.parametrize(("sketch", "name"), _on_cpus())
def test_each_computes_its_reference(sketch: str, name: str) -> None:
    makes = (FULLY_ON_CPUS | IN_TURN_ON_CPUS)[sketch]
    check(sketch, Target(), makes(name + NUMBERS.get(name, "")))


@needs_compiler
@pytest.mark.parametrize(("sketch", "name"), _on_gpus())
def test_each_computes_its_reference_on_a_gpu(sketch: str, name: str) -> None:
    makes = (FULLY_ON_GPUS | IN_SWEEPS_ON_GPUS)[sketch]
    check(sketch, Target("cuda", arch="sm_90"), makes(name + NUMBERS.get(name, "")))
