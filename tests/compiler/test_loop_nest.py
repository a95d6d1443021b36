"""Loops and what they touch, against programs that can be read by eye."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.compiler.loops import (
    guarded,
    in_registers,
    overlapping,
    product,
    through_a_view,
    through_two_shapes,
    vectorised,
)
from tunesmith.compiler.loop_nest import Access, LoopNest, loop_nest
from tunesmith.compiler.passes.pipelines import plain_loops
from tunesmith.features.program import loop_context
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.operators import conv2d, matmul
from tunesmith.target import Target
from tunesmith.task import Task


def read(module: Any) -> LoopNest:
    return loop_nest(module["main"])


def access(nest: LoopNest, name: str, *, is_store: bool = False) -> Access:
    """The only loads or stores of a buffer."""
    (found,) = [
        each
        for each in nest.accesses
        if nest.buffers[each.buffer].name == name and each.is_store == is_store
    ]
    return found


def test_a_product_by_hand() -> None:
    nest = read(product())
    assert [(loop.extent, loop.annotation, loop.parent) for loop in nest.loops] == [
        (4, "parallel", None),
        (8, "serial", 0),
        (16, "unrolled", 1),
    ]
    assert {
        (b.name, b.scope, b.elements, b.element_bits, b.is_parameter) for b in nest.buffers
    } == {
        ("A", "global", 64, 32, True),
        ("B", "global", 128, 32, True),
        ("C", "global", 32, 32, True),
    }
    a, b = access(nest, "A"), access(nest, "B")
    c, stored = access(nest, "C"), access(nest, "C", is_store=True)
    assert a.path == b.path == c.path == stored.path == (0, 1, 2)
    assert (a.count, a.lanes, b.count, stored.count) == (1, 1, 1, 1)
    assert a.strides == (16, 0, 1)
    assert b.strides == (0, 1, 8)
    assert c.strides == stored.strides == (8, 1, 0)
    assert a.spans.tolist() == [[3, 0], [0, 0], [0, 15]]
    assert b.spans.tolist() == [[0, 0], [0, 7], [15, 0]]
    assert a.widths.tolist() == [1, 1]


def test_vectors_are_lanes() -> None:
    nest = read(vectorised())
    found = access(nest, "A")
    assert (found.count, found.lanes, found.widths.tolist()) == (2, 16, [32])
    assert (found.strides, found.spans.tolist()) == ((32,), [[96]])


def test_what_is_bound_is_followed() -> None:
    """Tiles of 8 of a length of 20: the last one overlaps its neighbour."""
    found = access(read(overlapping()), "A")
    assert found.path == (0, 1)
    assert found.strides == (8, 1)
    assert found.spans.tolist() == [[12], [7]]


def test_views_are_their_buffer() -> None:
    nest = read(through_a_view())
    assert [buffer.name for buffer in nest.buffers] == ["A"]
    stored = access(nest, "A", is_store=True)
    assert stored.strides == (8,)
    assert stored.widths.tolist() == [1]
    assert access(nest, "A").widths.tolist() == [1, 1]


def test_views_of_another_shape_are_read_by_their_own_indices() -> None:
    nest = read(through_two_shapes())
    assert [buffer.name for buffer in nest.buffers] == ["A", "B"]
    loads = [each for each in nest.accesses if not each.is_store]
    assert {each.buffer for each in loads} == {0}
    assert sorted((each.strides, each.count, each.widths.tolist()) for each in loads) == [
        ((8,), 1, [1, 1]),
        ((8,), 1, [1, 1]),
        ((8,), 2, [3]),
    ]
    context = loop_context(nest)
    assert context.buffers == [1, 0]  # the result is the first
    assert context.touched.tolist() == [[4.0, 8.0]]
    assert context.reuse.tolist() == [[1.0, 2.0]]


def test_registers_of_one_name_are_one_buffer() -> None:
    nest = read(in_registers())
    (sums,) = [buffer for buffer in nest.buffers if buffer.scope == "local"]
    assert (sums.elements, sums.is_parameter) == (12, False)
    stored = access(nest, "sums", is_store=True)
    assert (stored.count, stored.lanes, stored.widths.tolist()) == (3, 4, [12])


def test_conditions_are_evaluated() -> None:
    """A padded image: outside of it the first element is loaded."""
    found = access(read(guarded()), "A")
    assert found.strides == (0,)  # from the border to the first element
    assert found.spans.tolist() == [[7]]


@pytest.mark.parametrize("target", [Target(), Target(kind="cuda", arch="sm_90a")], ids=str)
@pytest.mark.parametrize(
    "operator", [matmul(m=64, n=64, k=64), conv2d(ci=16, h=14, w=14, co=32, kernel=3)], ids=str
)
def test_every_sketch_is_read(operator: Any, target: Target) -> None:
    """Loops are nested, and no access is outside of its buffer."""
    for problem in problems_of(Task(operator, target)):
        program = plain_loops(problem.program(problem.default))
        for function in program.functions.values():
            nest = loop_nest(function)
            assert nest.accesses, problem.sketch.name
            for number, loop in enumerate(nest.loops):
                assert loop.parent is None or loop.parent < number
            for each in nest.accesses:
                box = np.prod(each.widths + each.spans.sum(axis=0))
                assert 0 < box <= nest.buffers[each.buffer].elements, problem.sketch.name
                assert len(each.strides) == len(each.path) == len(each.spans)
            parameters = {buffer.name for buffer in nest.buffers if buffer.is_parameter}
            assert parameters, problem.sketch.name
