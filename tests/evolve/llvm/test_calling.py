"""Kernels that are called as Numba calls them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from tunesmith.errors import UsageError
from tunesmith.evolve.llvm.build import Machine
from tunesmith.evolve.llvm.calling import ArrayType, CConvention, NumbaConvention

# It returns a third of a number, and says that it has raised the exception 7 where that is below 0.
THIRD = """
define i32 @third(ptr %result, ptr %raised, double %x) {
  %third = fdiv double %x, 3.0
  store double %third, ptr %result
  store ptr inttoptr (i64 7 to ptr), ptr %raised
  %wrong = fcmp olt double %x, 0.0
  %status = zext i1 %wrong to i32
  ret i32 %status
}
"""


def test_a_call_keeps_what_it_needs_until_it_is_made() -> None:
    machine = Machine(THIRD, "third")
    run = NumbaConvention(("c_double",), "c_double").bound(machine.address)([6.0])
    others = [ctypes.c_void_p() for _ in range(10_000)]
    returned, seconds = run()
    assert returned == 2.0
    assert seconds >= 0
    assert all(each.value is None for each in others), "nothing was written to memory of others"


TWICE = """
define i64 @twice(i64 %x) {
  %y = shl i64 %x, 1
  ret i64 %y
}
"""
KEPT = """
define i32 @kept(ptr %result, ptr %raised, i64 %x) {
  store i64 %x, ptr %result
  ret i32 0
}
"""


def test_whole_numbers_of_numpy_are_numbers() -> None:
    kept, twice = Machine(KEPT, "kept"), Machine(TWICE, "twice")
    bound = NumbaConvention(("c_int64",), "c_int64").bound(kept.address)
    assert bound([np.int64(3)])()[0] == 3
    assert CConvention(("i64",), "i64").bound(twice.address)([np.int64(21)])()[0] == 42


def test_an_exception_is_one() -> None:
    machine = Machine(THIRD, "third")
    bind = NumbaConvention(("c_double",), "c_double").bound(machine.address)
    with pytest.raises(RuntimeError, match="the kernel raised an exception"):
        bind([-6.0])()
    assert bind([9.0])()[0] == 3.0


def test_what_the_kernel_was_not_compiled_for_is_refused() -> None:
    bind = NumbaConvention((ArrayType("float32", 1, "C"),), "").bound(0)
    with pytest.raises(UsageError, match="the kernel takes 1 arguments, not 2"):
        bind([1, 2])
    with pytest.raises(UsageError, match="argument 1 must be an array of float32"):
        bind([np.zeros(3)])
