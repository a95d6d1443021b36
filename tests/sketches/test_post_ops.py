"""Chains of post-ops in every sketch of products."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.emulated import needs_compiler
from tests.sketches.odd_operators import OddOperators
from tunesmith.errors import InstantiationError, UsageError
from tunesmith.operators import Operator, ProductOperator, dense
from tunesmith.sketches import Sketch
from tunesmith.sketches.registry import SKETCHES
from tunesmith.target import Target
from tunesmith.testing.processors import cpu_target_parameters
from tunesmith.testing.sketch import mismatch, mismatch_of

# A tensor of each kind, and functions that are not monotone, so that no error is hidden.
CHAINS = ("scale+silu+multiply", "clip:-1:1.5+add+gelu_tanh")
# So many operators are drawn until one fits, with few enough elements for the emulated GPU.
DRAWS = 3000
MOST_MULTIPLY_ADDS = 200_000


def _of_products(name: str) -> bool:
    """Whether a sketch is for products, and of any size."""
    others = ("rows", "pool", "reduce", "elementwise", "embedding", "recurrent")
    return not name.endswith(others) and not SKETCHES.get(name).only_by_name


def _cases() -> list[Any]:
    cases = [
        pytest.param(name, *target.values, id=f"{name}-{target.id}", marks=target.marks)
        for name in SKETCHES.names()
        for target in cpu_target_parameters()
        if name.startswith("cpu") and _of_products(name)
    ]
    gpu = Target("cuda", arch="sm_90")
    return cases + [
        pytest.param(name, gpu, id=name, marks=needs_compiler)
        for name in SKETCHES.names()
        if name.startswith("cuda") and _of_products(name)
    ]


@pytest.mark.parametrize(("name", "target"), _cases())
def test_every_sketch_of_products_has_them(name: str, target: Target) -> None:
    sketch, seed = SKETCHES.get(name), zlib.crc32(name.encode())
    rng = np.random.default_rng(seed)
    operators = OddOperators(seed)
    for chain in CHAINS if target.kind == "cpu" else CHAINS[seed % 2 :][:1]:
        operator = _next_for(sketch, target, operators, chain)
        while True:
            config = sketch.space(operator, target).sample(rng)
            try:
                program = sketch.program(operator, target, config)
            except InstantiationError:
                continue
            break
        assert mismatch_of(program, operator, config, target) is None, operator.key


def _next_for(sketch: Sketch, target: Target, operators: OddOperators, chain: str) -> Operator:
    for _ in range(DRAWS):
        drawn = next(operators)
        if not isinstance(drawn, ProductOperator) or drawn.dtype == "int8":
            continue
        operator = replace(drawn, post_ops=chain)
        if operator.multiply_adds < MOST_MULTIPLY_ADDS and sketch.supports(operator, target):
            return operator
    raise AssertionError(f"no operator for {sketch.name} in {DRAWS}")


def test_the_same_one_twice_has_two_tensors() -> None:
    operator = dense(m=3, n=19, k=5, residual=True, post_ops="multiply+add+multiply")
    names = [argument.name for argument in operator.arguments]
    assert names == ["data", "weight", "residual", "factor", "addend", "factor2"]
    sketch = SKETCHES.get("cpu_gemm")
    assert mismatch(sketch, operator, sketch.default(operator, Target())) is None


def test_gelu_is_not_for_float64() -> None:
    with pytest.raises(UsageError, match="post-op gelu is for float32, float16, bfloat16"):
        dense(n=4, k=5, dtype="float64", post_ops="gelu")
