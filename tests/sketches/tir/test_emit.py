"""The parts that sketches write programs with, run on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.compiler.compile import compiled
from tunesmith.errors import InstantiationError
from tunesmith.operators import Argument
from tunesmith.sketches.cpu.gemm.blocking import share
from tunesmith.sketches.tir import emit, shuffles
from tunesmith.sketches.tir.registers import Registers
from tunesmith.target import Target


def _run(body: Callable[[list[Any]], None], *arrays: np.ndarray[Any, Any]) -> Any:
    """The module of one function over buffers like the arrays, built and called on them."""
    import tvm

    parameters = [
        Argument(f"a{number}", array.shape, str(array.dtype)) for number, array in enumerate(arrays)
    ]
    with emit.module() as made, emit.function("main", parameters) as buffers:
        body(buffers)
    tensors = [tvm.runtime.tensor(array) for array in arrays]
    compiled(made[0], Target().to_tvm())["main"](*tensors)
    return [tensor.numpy() for tensor in tensors]


@given(st.integers(1, 100), st.sampled_from((1, 2, 4, 8, 16)))
def test_a_number_is_a_sum_of_powers_of_two(number: int, largest: int) -> None:
    parts = emit.powers_of_two(number, largest)
    assert [place for place, _ in parts] == [
        sum(s for _, s in parts[:i]) for i in range(len(parts))
    ]
    assert sum(size for _, size in parts) == number
    assert all(size <= largest and size & (size - 1) == 0 for _, size in parts)
    assert [size for _, size in parts] == sorted((size for _, size in parts), reverse=True)


def test_powers_of_two_and_divisors_up_to_a_limit() -> None:
    assert [emit.powers_up_to(limit) for limit in (0, 1, 9)] == [(), (1,), (1, 2, 4, 8)]
    assert [emit.largest_divisor(extent, 6) for extent in (12, 7, 35, 4)] == [6, 1, 5, 4]


@pytest.mark.parametrize("extent, size", [(12, 4), (13, 4), (4, 4), (7, 5)])
def test_the_last_tile_begins_early_enough_to_be_whole(extent: int, size: int) -> None:
    count = emit.tile_count(extent, size)

    def body(buffers: list[Any]) -> None:
        with emit.serial(count, "tile") as tile:
            emit.store(buffers[0], emit.tile_start(tile, size, extent), [tile])

    (starts,) = _run(body, np.zeros(count, np.int32))
    assert list(starts) == [min(tile * size, extent - size) for tile in range(count)]


@pytest.mark.parametrize("parts, total", [(1, 5), (2, 5), (3, 9), (4, 6), (5, 3)])
def test_shares_are_all_of_a_total_and_differ_by_one_at_most(parts: int, total: int) -> None:
    def body(buffers: list[Any]) -> None:
        with emit.serial(parts, "part") as part:
            first, count = share(part, parts, total)
            emit.store(buffers[0], first, [part, 0])
            emit.store(buffers[0], count, [part, 1])

    (shares,) = _run(body, np.zeros((parts, 2), np.int32))
    steps = [step for first, count in shares for step in range(first, first + count)]
    assert steps == list(range(total))
    assert max(shares[:, 1]) - min(shares[:, 1]) <= 1


@pytest.mark.parametrize("rows", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_turned_rows_are_columns_one_after_the_other(rows: int, lanes: int, dtype: str) -> None:
    def body(buffers: list[Any]) -> None:
        source, result = buffers
        loaded = [emit.load(source, [row, 0], lanes) for row in range(rows)]
        for number, vector in enumerate(shuffles.turned(loaded, lanes)):
            emit.store(result, vector, [number * lanes], lanes)

    source = np.arange(rows * lanes).reshape(rows, lanes).astype(dtype)
    _, result = _run(body, source, np.zeros(rows * lanes, dtype))
    np.testing.assert_array_equal(result, source.T.ravel())


def test_registers_keep_values_across_loops_and_prefetches() -> None:
    lanes, steps = 4, 5

    def body(buffers: list[Any]) -> None:
        source, result = buffers
        sums = Registers("sums", 2, lanes, "float32")
        for number in range(2):
            sums[number] = emit.constant(number, "float32", lanes)
        with emit.serial(steps, "step") as step:
            emit.prefetch(source, [step + 100, 0], near=False)
            for number in range(2):
                sums[number] = sums[number] + emit.load(source, [step, 0], lanes)
        for number in range(2):
            emit.store(result, sums[number], [number, 0], lanes)

    source = np.random.default_rng(0).random((steps, lanes), dtype=np.float32)
    _, result = _run(body, source, np.zeros((2, lanes), np.float32))
    np.testing.assert_allclose(result, np.add([[0.0], [1.0]], source.sum(0)), rtol=1e-6)


def test_what_happens_only_where_a_condition_holds() -> None:
    def body(buffers: list[Any]) -> None:
        with emit.serial(4, "step") as step, emit.when(step > 1), emit.when(None), emit.when(True):
            emit.store(buffers[0], emit.constant(7, "int32"), [step])

    (result,) = _run(body, np.zeros(4, np.int32))
    assert list(result) == [0, 0, 7, 7]


def test_functions_of_llvm_are_called() -> None:
    twice = """
    define internal <4 x i32> @twice(<4 x i32> %value) alwaysinline {
      %sum = add <4 x i32> %value, %value
      ret <4 x i32> %sum
    }
    """

    def body(buffers: list[Any]) -> None:
        with emit.llvm(twice):
            value = emit.called("twice", "int32x4", emit.load(buffers[0], [0], 4))
            emit.store(buffers[0], value, [0], 4)

    (result,) = _run(body, np.arange(4, dtype=np.int32))
    assert list(result) == [0, 2, 4, 6]


def test_flat_is_the_same_memory_and_bits_are_kept() -> None:
    def body(buffers: list[Any]) -> None:
        flat = emit.flat(buffers[0])
        words = emit.reinterpreted(emit.load(flat, [2], 2), "int32x2")
        emit.store(buffers[1], words, [0], 2)

    source = np.array([[1.0, -1.0], [0.5, 2.0]], np.float32)
    _, bits = _run(body, source, np.zeros(2, np.int32))
    np.testing.assert_array_equal(bits.view(np.float32), source[1])


def test_memory_that_32_bits_cannot_number_is_refused() -> None:
    many = Argument("panels", (2**16, 2**15), "int8")
    with pytest.raises(InstantiationError, match=r"\Apanels \(65536, 32768\) has more than .*\Z"):
        _run(lambda _: emit.buffer(many.name, many.shape, many.dtype))
    too_large = pytest.raises(InstantiationError, match=r"\Apanels \(65536, 32768\) has more than ")
    with too_large, emit.module(), emit.function("main", [many]):
        pass
