"""exp and functions like it of float32, written out as arithmetic."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from tunesmith.compiler.compile import compiled
from tunesmith.operators import Argument
from tunesmith.sketches.tir import emit
from tunesmith.target import Target

REFERENCES: dict[str, Any] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "cosh": np.cosh,
    "sinh": np.sinh,
}
ENDS = np.array([np.inf, -np.inf, np.nan, 88.8, -89, 0, 1000, -1000], np.float32)


def program(name: str, count: int, lanes: int) -> Any:
    from tvm import tirx

    arguments = [Argument("data", (count,), "float32"), Argument("result", (count,), "float32")]
    with (
        emit.module() as made,
        emit.function("main", arguments) as (data, result),
        emit.serial(count // lanes, "step") as step,
    ):
        value = getattr(tirx, name)(emit.load(data, [step * lanes], lanes))
        emit.store(result, value, [step * lanes], lanes)
    return made[0]


def computed(name: str, values: Any, lanes: int) -> Any:
    import tvm

    result = tvm.runtime.tensor(np.zeros_like(values))
    function = compiled(program(name, len(values), lanes), Target().to_tvm())["main"]
    function(tvm.runtime.tensor(values), result)
    return result.numpy()


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("name", REFERENCES)
def test_errors_are_of_a_few_roundoffs(name: str, lanes: int) -> None:
    rng = np.random.default_rng(0)
    near = np.concatenate([rng.uniform(-20, 20, 4000), rng.normal(size=96) * 1e-3])
    values = near.astype(np.float32)
    expected = REFERENCES[name](values.astype(np.float64))
    np.testing.assert_allclose(computed(name, values, lanes), expected, rtol=5e-7, atol=1e-37)


@pytest.mark.parametrize("name", REFERENCES)
def test_the_ends_and_what_is_no_number(name: str) -> None:
    found = computed(name, ENDS, 8)
    with np.errstate(over="ignore"):
        expected = REFERENCES[name](ENDS.astype(np.float64)).astype(np.float32)
    # Below the normal numbers the result is 0.
    np.testing.assert_allclose(found, expected, rtol=5e-7, atol=1.2e-38)


@pytest.mark.parametrize("name", REFERENCES)
def test_nothing_is_left_for_the_c_library(name: str) -> None:
    assembly = compiled(program(name, 64, 8), Target().to_tvm()).mod.inspect_source("asm")
    assert not re.search(r"\b(call|jmp)\w*\s+(expf|tanhf|erff|coshf|sinhf)", assembly)


def test_other_types_are_lowered_as_before() -> None:
    import tvm
    from tvm import tirx

    argument = Argument("data", (8,), "float64")
    with emit.module() as made, emit.function("main", [argument]) as (data,):
        emit.store(data, tirx.exp(emit.load(data, [0], 8)), [0], 8)
    values = np.linspace(-700, 700, 8)
    tensor = tvm.runtime.tensor(values)
    compiled(made[0], Target().to_tvm())["main"](tensor)
    np.testing.assert_allclose(tensor.numpy(), np.exp(values), rtol=1e-14)
