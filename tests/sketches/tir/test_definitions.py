"""Other definitions of an operator: by our names, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from tunesmith.errors import InstantiationError
from tunesmith.operators import Operator, conv2d, matmul
from tunesmith.sketches.tir.definitions import begin
from tunesmith.sketches.tir.loop_nest import LoopNest, lower, main_loop_nest

PRODUCT = matmul(m=8, n=16, k=4)


def nest_of(operator: Operator) -> LoopNest:
    nest = main_loop_nest(operator)
    assert nest is not None
    return nest


def product(m: int = 8, n: int = 16, k: int = 4, *, transposed: bool = False) -> Any:
    """A product as somebody else writes it, with an axis of one step more."""
    from tvm import IRModule, te

    left = te.placeholder((m, k), name="left")
    right = te.placeholder((n, k) if transposed else (k, n), name="right")
    one, steps = te.reduce_axis((0, 1), name="one"), te.reduce_axis((0, k), name="steps")

    def element(row: Any, column: Any) -> Any:
        factor = right[column, steps + one] if transposed else right[steps + one, column]
        return te.sum(left[row, steps] * factor, axis=[one, steps])

    result = te.compute((m, n), element, name="result")
    return IRModule({"main": te.create_prim_func([left, right, result])})


def test_axes_and_inputs_have_our_names() -> None:
    ours = nest_of(PRODUCT)
    _, nest = begin(product(), PRODUCT, ours)
    assert nest.block == "result"
    assert nest.inputs == ours.inputs
    assert nest.tiled_spatial == ours.tiled_spatial
    assert nest.tiled_reduction == ours.tiled_reduction
    assert [axis.name for axis in nest.reduction] == ["their_one", "k"]


def test_our_own_definition_is_not_looked_at_again() -> None:
    nest = nest_of(PRODUCT)
    assert begin(lower(PRODUCT), PRODUCT, nest)[1] is nest


@pytest.mark.parametrize(
    "other",
    [{"m": 16}, {"n": 8, "m": 16}, {"k": 8}, {"transposed": True}, {"transposed": True, "k": 16}],
    ids=str,
)
def test_other_loops_are_refused(other: dict[str, Any]) -> None:
    with pytest.raises(InstantiationError, match="the loops of the definition are not those of"):
        begin(product(**other), PRODUCT, nest_of(PRODUCT))


def test_the_order_of_sums_may_differ() -> None:
    """NHWC as TVM has it: the window outside, channels inside."""
    from tvm import IRModule, te
    from tvm.topi.nn import conv2d as tvm_conv2d

    operator = conv2d(ci=4, h=8, w=9, co=8, kernel=(3, 2), layout="NHWC")
    data, weight = (te.placeholder(it.shape, name=it.name) for it in operator.arguments)
    result = tvm_conv2d(data, weight, 1, 0, 1, "NHWC", "HWIO", "float32")
    module = IRModule({"main": te.create_prim_func([data, weight, result])})
    ours = nest_of(operator)
    schedule, nest = begin(module, operator, ours)
    assert [axis.name for axis in ours.reduction] == ["rc", "ry", "rx"]
    assert [axis.name for axis in nest.reduction] == ["ry", "rx", "rc"]
    assert nest.producers == (), "TVM's stage for padding, which pads nothing, is gone"
    stages = schedule.get_child_blocks(schedule.get_sblock("root"))
    assert [str(schedule.get(stage).name_hint) for stage in stages] == [nest.block]
