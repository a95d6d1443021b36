"""The loop context of a nest that was worked out by hand."""

from __future__ import annotations

import numpy as np

from tunesmith.compiler.loop_nest import Access, Buffer, Loop, LoopNest
from tunesmith.features.program.context import ANNOTATIONS, loop_context, main_chain

# for i in parallel(4): for j in 8: for k in unroll(16): C[i, j] += A[i, k] * B[k, j]
A, B, C = range(3)
PRODUCT = LoopNest(
    [Loop(4, "parallel", None), Loop(8, "serial", 0), Loop(16, "unrolled", 1)],
    [
        Buffer("A", "global", 64, 32, is_parameter=True),
        Buffer("B", "global", 128, 32, is_parameter=True),
        Buffer("C", "global", 32, 32, is_parameter=True),
    ],
    [
        Access(
            buffer,
            (0, 1, 2),
            is_store=is_store,
            count=1,
            lanes=1,
            strides=strides,
            spans=np.array(spans),
            widths=np.array([1, 1]),
        )
        for buffer, is_store, strides, spans in (
            (C, False, (8, 1, 0), [[3, 0], [0, 7], [0, 0]]),
            (A, False, (16, 0, 1), [[3, 0], [0, 0], [0, 15]]),
            (B, False, (0, 1, 8), [[0, 0], [0, 7], [15, 0]]),
            (C, True, (8, 1, 0), [[3, 0], [0, 7], [0, 0]]),
        )
    ],
)


def test_loops_of_a_product() -> None:
    context = loop_context(PRODUCT)
    assert context.lengths.tolist() == [4, 8, 16]
    assert context.top_down.tolist() == [1, 4, 32]
    assert context.bottom_up.tolist() == [512, 128, 16]
    kinds = [ANNOTATIONS[place] for place in context.annotations.argmax(axis=1)]
    assert kinds == ["parallel", "serial", "unrolled"]
    assert context.annotations.sum() == 3


def test_accesses_of_a_product() -> None:
    """The result first, then what it is computed from, the largest first."""
    context = loop_context(PRODUCT)
    assert list(context.buffers) == [C, B, A]
    assert context.touched.tolist() == [[32, 128, 64], [8, 128, 16], [1, 16, 16]]
    # Each step loads and stores an element of C.
    assert context.reuse.tolist() == [[32, 4, 8], [32, 1, 8], [32, 1, 1]]
    assert context.strides.tolist() == [[8, 0, 16], [1, 1, 0], [0, 8, 1]]


def test_no_more_is_touched_than_is_accessed() -> None:
    """Every fourth element: the box around them is larger."""
    access = Access(
        0,
        (0,),
        is_store=False,
        count=1,
        lanes=1,
        strides=(4,),
        spans=np.array([[28]]),
        widths=np.array([1]),
    )
    nest = LoopNest([Loop(8, "serial", None)], [Buffer("A", "global", 32, 32, True)], [access])
    assert loop_context(nest).touched.tolist() == [[8]]


def test_vectors_touch_their_lanes() -> None:
    access = Access(
        0,
        (0,),
        is_store=True,
        count=2,
        lanes=16,
        strides=(32,),
        spans=np.array([[96]]),
        widths=np.array([32]),
    )
    nest = LoopNest([Loop(4, "serial", None)], [Buffer("A", "global", 128, 32, True)], [access])
    context = loop_context(nest)
    assert context.touched.tolist() == [[128]]
    assert context.reuse.tolist() == [[1]]


def test_the_main_chain_has_the_most_accesses() -> None:
    """Not a deeper one that does next to nothing."""
    loops = [
        Loop(2, "serial", None),
        Loop(2, "serial", 0),
        Loop(2, "serial", 1),
        Loop(1000, "serial", None),
    ]

    def access(path: tuple[int, ...]) -> Access:
        zeros = np.zeros((len(path), 1), dtype=np.int64)
        return Access(0, path, False, 1, 1, (0,) * len(path), zeros, np.array([1]))

    buffers = [Buffer("A", "global", 1, 32, True)]
    assert main_chain(LoopNest(loops, buffers, [access((0, 1, 2)), access((3,))])) == (3,)


def test_a_program_without_loops() -> None:
    access = Access(0, (), True, 1, 1, (), np.zeros((0, 1), dtype=np.int64), np.array([1]))
    nest = LoopNest([], [Buffer("A", "global", 1, 32, True)], [access])
    context = loop_context(nest)
    assert context.lengths.shape == (0,)
    assert context.touched.shape == (0, 1)
