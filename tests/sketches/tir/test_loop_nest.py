"""What sketches learn of an operator: loops, inputs, stages, and the layouts that fit."""

from __future__ import annotations

from tunesmith.operators import batch_matmul, conv2d, matmul, pool2d, softmax
from tunesmith.sketches.cpu.tiled.packing import Packing, packing_of
from tunesmith.sketches.tir.loop_nest import Access, Axis, LoopNest, lower, main_loop_nest


def _nest_of(nest: LoopNest | None) -> LoopNest:
    assert nest is not None
    return nest


PADDED = _nest_of(
    main_loop_nest(conv2d(ci=4, h=8, w=9, co=6, kernel=3, padding=1, stride=(1, 2), bias=True))
)


def _access(nest: LoopNest, buffer: str) -> Access:
    (access,) = [access for access in nest.inputs if access.buffer == buffer]
    return access


def _packing(nest: LoopNest, buffer: str) -> Packing:
    packing = packing_of(nest, _access(nest, buffer))
    assert packing is not None
    return packing


def test_the_loops_of_a_convolution() -> None:
    assert PADDED.block == "conv2d"
    assert PADDED.spatial == (Axis("n", 1), Axis("f", 6), Axis("y", 8), Axis("x", 5))
    assert PADDED.reduction == (Axis("rc", 4), Axis("ry", 3), Axis("rx", 3))
    assert [axis.name for axis in PADDED.tiled_spatial] == ["f", "y", "x"]
    assert PADDED.producers == ("pad",)
    assert PADDED.consumers == ("epilogue",)


def test_the_inputs_of_a_convolution() -> None:
    pad, weight = _access(PADDED, "pad"), _access(PADDED, "weight")
    assert pad.shape == (1, 4, 10, 11)
    assert pad.axes == ("n", "rc", None, None)
    assert pad.indices[2:] == (frozenset({"y", "ry"}), frozenset({"x", "rx"}))
    assert pad.produced
    assert pad.computed_axes == {"y", "ry", "x", "rx"}
    assert pad.consecutive_axes == {"x", "rx"}
    assert pad.steps[1:] == ((("rc", 1),), (("ry", 1), ("y", 1)), (("rx", 1), ("x", 2)))
    assert weight.axes == ("f", "rc", "ry", "rx")
    assert not weight.produced
    assert weight.computed_axes == frozenset()
    assert weight.all_axes == {"f", "rc", "ry", "rx"}


def test_dimensions_of_one_element_do_not_count_as_consecutive() -> None:
    nest = _nest_of(main_loop_nest(conv2d(ci=4, h=8, w=1, co=6, kernel=1)))
    assert _access(nest, "data").consecutive_axes == {"y", "ry"}
    assert _access(nest, "weight").consecutive_axes == {"rc"}
    one = _nest_of(main_loop_nest(matmul(m=1, n=1, k=1)))
    assert _access(one, "data").consecutive_axes == frozenset()


def test_operators_without_one_reduction_have_no_nest() -> None:
    assert main_loop_nest(softmax(m=4, n=4)) is None
    assert main_loop_nest(pool2d(c=2, h=4, w=4, kernel=2, kind="avg")) is not None


def test_weights_are_packed_by_output_channels_and_padded_data_by_input_channels() -> None:
    tiles = {"f": 3, "rc": 2}
    weight, pad = _packing(PADDED, "weight"), _packing(PADDED, "pad")
    assert weight.index_map(tiles)(5, 3, 1, 2) == (1, 3, 1, 2, 2)
    assert weight.innermost_axis == "f"
    assert pad.index_map(tiles)(0, 3, 7, 8) == (0, 1, 7, 8, 1)
    assert pad.innermost_axis == "rc"


def test_both_operands_of_a_product_are_packed_in_panels() -> None:
    nest = _nest_of(main_loop_nest(batch_matmul(b=2, m=8, n=6, k=4)))
    tiles = {"b": 1, "i": 4, "j": 3}
    assert _packing(nest, "data").index_map(tiles)(1, 7, 2) == (1, 1, 2, 0, 3)
    assert _packing(nest, "weight").index_map(tiles)(1, 2, 5) == (1, 1, 2, 0, 2)


def test_an_input_that_is_as_good_as_it_is_has_no_packing() -> None:
    # The channels of NHWC images are innermost already.
    nest = _nest_of(
        main_loop_nest(conv2d(ci=4, h=8, w=8, co=6, kernel=3, padding=1, layout="NHWC"))
    )
    assert packing_of(nest, _access(nest, "pad")) is None


def test_scheduling_leaves_the_shared_module_as_it_was() -> None:
    from tvm.s_tir import Schedule

    operator = matmul(m=8, n=8, k=8)
    before = lower(operator).script()
    schedule = Schedule(lower(operator))
    schedule.parallel(schedule.get_loops(schedule.get_sblock("matmul"))[0])
    assert schedule.mod.script() != before
    assert lower(operator).script() == before
