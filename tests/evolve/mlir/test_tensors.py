"""How tensors of one shape take the place of others: against NumPy, for all small shapes."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

from tunesmith.evolve.mlir.tensors import Tensor, steps


def carried_out(array: Any, source: Tensor, wanted: Tensor) -> Any:
    """The steps, done by NumPy from what they say."""
    for step in steps(source, wanted):
        lists = [
            [int(each) for each in re.findall(r"-?\d+", text)]
            for text in re.findall(r"array<i64:?([^>]*)>", step.properties)
        ]
        if step.name == "slice":
            start, end, strides = lists
            assert set(strides) <= {1}
            array = array[tuple(map(slice, start, end))]
        elif step.name == "reshape":
            array = array.reshape(step.result.shape)
        elif step.name == "pad":
            low, high, interior = lists
            assert set(interior) <= {0}
            array = np.pad(array, list(zip(low, high, strict=True)))
        else:
            (dimensions,) = lists
            shape = [1] * len(step.result.shape)
            for dimension, size in zip(dimensions, array.shape, strict=True):
                shape[dimension] = size
            array = np.broadcast_to(array.reshape(shape), step.result.shape)
        assert array.shape == step.result.shape
    return array


SHAPES = [(), (1,), (2,), (5,), (1, 2), (3, 4), (6, 1), (2, 3, 4), (5, 1, 2), (2, 2, 2, 2)]


@pytest.mark.parametrize(("source", "wanted"), list(itertools.product(SHAPES, SHAPES)))
def test_every_shape_takes_the_place_of_every_other(
    source: tuple[int, ...], wanted: tuple[int, ...]
) -> None:
    array = 1.0 + np.arange(np.prod(source, dtype=int), dtype=float).reshape(source)
    found = carried_out(array, Tensor(source, "f32"), Tensor(wanted, "f32"))
    assert found.shape == wanted
    assert set(np.unique(found)) <= {0.0, *np.unique(array)}
    assert found.any(), "something of it is left"


def test_the_middle_is_kept() -> None:
    found = carried_out(np.arange(5), Tensor((5,), "i32"), Tensor((3,), "i32"))
    assert found.tolist() == [1, 2, 3]
    found = carried_out(np.arange(1, 4), Tensor((3,), "i32"), Tensor((5,), "i32"))
    assert found.tolist() == [0, 1, 2, 3, 0]
    found = carried_out(np.arange(6).reshape(3, 2), Tensor((3, 2), "i32"), Tensor((2,), "i32"))
    assert found.tolist() == [2, 3]


def test_the_same_shape_needs_nothing() -> None:
    assert steps(Tensor((2, 3), "f32"), Tensor((2, 3), "f32")) == []


@pytest.mark.parametrize(
    "text", ["tensor<f32>", "tensor<3x4xf32>", "tensor<1xi8>", "tensor<2xbf16>"]
)
def test_types_are_read_and_written(text: str) -> None:
    found = Tensor.parse(text)
    assert found is not None
    assert str(found) == text


@pytest.mark.parametrize("text", ["tensor<?xf32>", "tuple<tensor<f32>>", "f32", "tensor<*xf32>"])
def test_what_is_no_tensor_of_fixed_shape(text: str) -> None:
    assert Tensor.parse(text) is None
