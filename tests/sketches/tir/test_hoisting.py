"""What leaves ``main`` for ``prepare``: what depends on the weights alone, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tunesmith.operators import Argument
from tunesmith.sketches.tir.hoisting import hoisted
from tunesmith.sketches.tir.weights import prepared_weights

SIZE = 8


def _module(*stages: str) -> Any:
    """A module whose ``main`` takes data, weight and result, and has these stages.

    A stage is written ``target = expression``, over the buffers that it reads at the same index;
    buffers that are no parameters are its own.
    """
    import tvm
    from tvm.script import from_source

    targets = {stage.split(" = ")[0] for stage in stages} - {"result"}
    lines = [
        "# from tvm.script import ir as I",
        "# from tvm.script import tirx as T",
        "@T.prim_func(s_tir=True)",
        "def main("
        + ", ".join(f'{name}: T.Buffer(({SIZE},), "float32")' for name in _PARAMETERS)
        + "):",
        '    T.func_attr({"global_symbol": "main", "tirx.noalias": True})',
        *(f"    {name} = T.sblock_alloc_buffer(({SIZE},))" for name in sorted(targets)),
    ]
    for number, stage in enumerate(stages):
        target, expression = stage.split(" = ")
        names = [*_PARAMETERS, *targets]
        for name in names:
            expression = expression.replace(name, f"{name}[v]")
        lines += [
            f"    for i in range({SIZE}):",
            f'        with T.sblock("stage_{number}"):',
            f"            v = T.axis.spatial({SIZE}, i)",
            f"            {target}[v] = {expression}",
        ]
    function = from_source("\n".join(lines))
    return tvm.IRModule({"main": function})


_PARAMETERS = ("data", "weight", "result")


def _functions(module: Any) -> set[str]:
    return {variable.name_hint for variable in module.get_global_vars()}


def _run(module: Any) -> Any:
    """The result for data 0, 1, 2, … and weights 1, 2, 3, …"""
    import tvm

    data = tvm.runtime.tensor(np.arange(SIZE, dtype=np.float32))
    weight = tvm.runtime.tensor(np.arange(1, SIZE + 1, dtype=np.float32))
    result = tvm.runtime.tensor(np.full(SIZE, np.nan, np.float32))
    compiled = tvm.compile(module, target="llvm")
    if "prepare" in _functions(module):
        laid_out = tvm.runtime.tensor(np.full(SIZE, np.nan, np.float32))
        compiled["prepare"](weight, laid_out)
        weight = laid_out
    compiled["main"](data, weight, result)
    return result.numpy()


@pytest.mark.parametrize(
    ("stages", "prepared", "left"),
    [
        (("packed = weight * 2.0", "result = data + packed"), "packed", 1),
        # In any order, and by way of other buffers.
        (
            ("shifted = data + 1.0", "packed = weight * 2.0", "result = shifted * packed"),
            "packed",
            2,
        ),
        (("first = weight * 2.0", "second = first + 1.0", "result = data * second"), "second", 1),
    ],
)
def test_stages_of_the_weights_alone_move(
    stages: tuple[str, ...], prepared: str, left: int
) -> None:
    module = _module(*stages)
    moved = hoisted(module)
    assert prepared_weights(moved) == Argument("prepared", (SIZE,), "float32")
    assert [parameter.name for parameter in moved["prepare"].params] == ["weight", prepared]
    assert [parameter.name for parameter in moved["main"].params] == ["data", prepared, "result"]
    assert moved["main"].script().count('T.sblock("stage') == left
    assert moved["prepare"].script().count('T.sblock("stage') == len(stages) - left
    np.testing.assert_array_equal(_run(moved), _run(module))


@pytest.mark.parametrize(
    "stages",
    [
        ("result = data * weight",),
        ("shifted = data + 1.0", "result = shifted * weight"),
        # The rest needs the plain weights, or several buffers.
        ("packed = weight * 2.0", "result = packed + data * weight"),
        ("first = weight * 2.0", "second = first + 1.0", "result = data * first + second"),
        # The buffer changes with the data.
        ("packed = weight * 2.0", "packed = packed + data", "result = packed + data"),
        ("packed = weight * data", "result = packed + data"),
        # Nothing is left that would need it, and a result must be written at each call.
        ("packed = weight * 2.0", "result = data + 1.0"),
        ("result = weight * 2.0",),
    ],
)
def test_other_programs_stay_as_they_are(stages: tuple[str, ...]) -> None:
    module = _module(*stages)
    assert hoisted(module) is module


def test_the_module_that_was_given_does_not_change() -> None:
    module = _module("packed = weight * 2.0", "result = data + packed")
    before = module.script()
    hoisted(module)
    assert module.script() == before
