"""The parts of a trace."""

from __future__ import annotations

from typing import Any

from tunesmith.exchange.metaschedule.traces import sketched

INSTRUCTIONS: list[Any] = [
    ["GetSBlock", [], ["conv2d", "main"], ["b0"]],
    ["GetSBlock", [], ["pad", "main"], ["b1"]],
    ["GetLoops", ["b0"], [], ["l2", "l3"]],
    ["SamplePerfectTile", ["l3"], [2, 64], ["v4", "v5"]],
    ["Split", ["l3", "v4", "v5"], [1, 0], ["l6", "l7"]],
    ["SampleComputeLocation", ["b1"], [], ["l8"]],
    ["SampleCategorical", [], [[0, 16, 64], [0.3, 0.3, 0.4]], ["v9"]],
    ["Annotate", ["b0", "v9"], ["meta_schedule.unroll_explicit"], []],
    ["SampleCategorical", [], [[1, 2], [0.5, 0.5]], ["v10"]],
    ["SampleCategorical", [], [[3, 4], [0.5, 0.5]], ["v11"]],
    ["EnterPostproc", [], [], []],
    ["SampleCategorical", [], [[5], [1.0]], ["v12"]],
]
DECISIONS: list[Any] = [[3, [8, 4]], [5, -1], [6, 2], [8, 0], [9, 1], [11, 0]]


def test_decisions_have_names() -> None:
    assert sketched([INSTRUCTIONS, DECISIONS]).config.to_json() == {
        "tile_conv2d_1": [8, 4],
        "location_pad": -1,
        "unroll_explicit": 64,
        "choice": 1,
        "choice#2": 4,
    }


def test_a_sketch_is_what_comes_before_postprocessing() -> None:
    parts = sketched([INSTRUCTIONS, DECISIONS])
    assert list(parts.instructions) == INSTRUCTIONS[:10]
    other = sketched([INSTRUCTIONS[:11], [[3, [4, 8]], *DECISIONS[1:]]])
    assert parts.sketch == other.sketch
    assert parts.config != other.config
    without = sketched([[INSTRUCTIONS[0], *INSTRUCTIONS[2:4]], [[2, [8, 4]]]])
    assert without.sketch != parts.sketch
    assert without.config.to_json() == {"tile_conv2d_1": [8, 4]}
