"""The least time of an operator on a machine, on hand-computed cases."""

from __future__ import annotations

import pytest

from tunesmith.operators import dense, matmul, softmax
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.cpu.model.roofline import Limit, bound
from tunesmith.target import Target

# Its caches and its clock are those of the tables: this machine is another one, or has to pass.
TARGETS = [Target(mcpu="znver3", cores=2), Target(mcpu="skylake-avx512", cores=2)]


@pytest.mark.parametrize("target", TARGETS)
def test_a_large_product_is_bound_by_arithmetic(target: Target) -> None:
    operator = matmul(m=512, n=512, k=512)
    found = bound(operator, target)
    assert found is not None
    assert found.limit is Limit.ARITHMETIC
    assert found.seconds == 2 * 512**3 / Machine.of(target).peak


@pytest.mark.parametrize("target", TARGETS)
def test_a_matrix_times_a_vector_is_bound_by_memory(target: Target) -> None:
    operator = dense(m=1, n=4096, k=8192)
    found = bound(operator, target)
    assert found is not None
    assert found.limit is Limit.MEMORY
    machine = Machine.of(target)
    moved = 4 * (8192 + 4096 * 8192 + 4096)
    assert found.seconds == moved / machine.bandwidth(moved)
    assert machine.bandwidth(moved) == 2 * machine.core.memory_bytes * machine.hertz


@pytest.mark.parametrize("target", TARGETS)
def test_doubles_have_half_the_peak_and_halves_the_same(target: Target) -> None:
    times = {}
    for dtype in ("float32", "float64", "float16"):
        found = bound(matmul(m=512, n=512, k=512, dtype=dtype), target)
        assert found is not None
        times[dtype] = found.seconds
    assert times["float64"] == 2 * times["float32"]
    assert times["float16"] == times["float32"]


def test_more_cores_are_faster() -> None:
    operator = softmax(m=512, n=1000)
    one, eight = (bound(operator, Target(mcpu="znver3", cores=cores)) for cores in (1, 8))
    assert one is not None and eight is not None
    assert eight.seconds <= one.seconds / 8


def test_what_has_no_known_peak_has_no_bound() -> None:
    assert bound(matmul(m=8, n=8, k=8, dtype="int8"), TARGETS[0]) is None
    assert bound(matmul(m=8, n=8, k=8), Target("cuda", arch="sm_80")) is None
