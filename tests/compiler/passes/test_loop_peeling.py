"""Loops whose last iteration is peeled: the same elements, conditions in that iteration alone."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.emulated import needs_compiler
from tunesmith.compiler.passes.loop_peeling import PEEL_LAST, peel_last_iterations
from tunesmith.cuda.lowering import cuda_source
from tunesmith.operators import Conv2d, conv2d, matmul
from tunesmith.sketches import sketches
from tunesmith.target import Target
from tunesmith.testing.sketch import mismatch

TARGET = Target("cuda", arch="sm_90")
DIRECT = sketches()["cuda_conv2d_direct"]


def narrow(n: int, h: int, w: int, co: int) -> Conv2d:
    return conv2d(n=n, ci=1, h=h, w=w, co=co, kernel=3, stride=2, padding=2)


@needs_compiler
@pytest.mark.parametrize(
    ("operator", "seed", "changes"),
    [
        (narrow(1, 9, 3, 2), 45, {}),
        (narrow(2, 9, 3, 3), 871, {"auto_unroll_max_step": 0}),
        (narrow(2, 5, 1, 4), 766, {"auto_unroll_max_step": 0}),
    ],
)
def test_copies_of_a_padded_image_stay_in_shared_memory(
    operator: Conv2d, seed: int, changes: dict[str, int]
) -> None:
    """The window moves in the loop outside, and with it the rows that are padding: split there by
    TVM's LoopPartition, the copy passed its end."""
    changes = {"unroll_explicit": 1, **changes}
    config = DIRECT.space(operator, TARGET).sample(np.random.default_rng(seed))
    config = config.replace(tile_ry=(3, 1), tile_rx=(3, 1), **changes)
    assert mismatch(DIRECT, operator, config, TARGET) is None


def function_of(turns: int, marked: bool = True) -> Any:
    """A module with a loop that fills 10 elements, 4 in a turn."""
    from tvm.ir import IRModule
    from tvm.script import tirx

    annotations = {PEEL_LAST: 1} if marked else {}

    @tirx.prim_func(private=True, s_tir=True)
    def fill(filled: tirx.Buffer((10,), "int32")) -> None:  # type: ignore[valid-type]
        for turn in tirx.serial(turns, annotations=annotations):
            for element in tirx.serial(4):
                if turn * 4 + element < 10:
                    filled[turn * 4 + element] = turn

    return IRModule({"main": fill})


def lines_of(turns: int, marked: bool = True) -> list[str]:
    from tvm.ir.transform import Sequential
    from tvm.tirx.transform import StmtSimplify

    module = Sequential([peel_last_iterations(), StmtSimplify()])(function_of(turns, marked))
    text = module["main"].script(show_meta=False)
    return [line.strip() for line in text.splitlines() if re.match(r" +(for|if|filled\[)", line)]


def test_all_turns_but_the_last_ask_nothing() -> None:
    assert lines_of(3) == [
        "for turn, element in T.grid(2, 4):",
        "filled[turn * 4 + element] = turn",
        "for element in range(4):",
        "if element < 2:",
        "filled[element + 8] = 2",
    ]


def test_a_single_turn_before_the_last_is_no_loop() -> None:
    assert lines_of(2) == [
        "for element in range(4):",
        "filled[element] = 0",
        "for element in range(4):",
        "filled[element + 4] = 1",
    ]


def test_other_loops_stay_as_they_are() -> None:
    assert lines_of(3, marked=False) == [
        "for turn, element in T.grid(3, 4):",
        "if turn * 4 + element < 10:",
        "filled[turn * 4 + element] = turn",
    ]


def test_no_loop_of_a_copy_asks() -> None:
    operator = matmul(m=512, n=500, k=300)
    tiled = sketches()["cuda_tiled"]
    program = tiled.program(operator, TARGET, tiled.default(operator, TARGET))
    source = cuda_source(program, TARGET.to_tvm())
    assert re.search(r"\n *if \(.*threadIdx", source), "the last turn"
    assert not re.search(r"for \(.*\{\n *if \(", source)
