"""Calls that machine code times."""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from tunesmith.evolve.llvm.build import Machine
from tunesmith.evolve.llvm.calling import CConvention
from tunesmith.evolve.llvm.timed_call import timed_call

MIXED = """
define i64 @mixed(i8 signext %a, i1 zeroext %b, i16 signext %c, float %d, double %e, ptr %f,
                  i32 %g, i64 %h, i8 signext %i) {
  %a1 = sext i8 %a to i64
  %b1 = zext i1 %b to i64
  %c1 = sext i16 %c to i64
  %d1 = fptosi float %d to i64
  %e1 = fptosi double %e to i64
  %f1 = load i64, ptr %f
  %g1 = sext i32 %g to i64
  %i1 = sext i8 %i to i64
  %s1 = add i64 %a1, %b1
  %s2 = add i64 %s1, %c1
  %s3 = add i64 %s2, %d1
  %s4 = add i64 %s3, %e1
  %s5 = add i64 %s4, %f1
  %s6 = add i64 %s5, %g1
  %s7 = add i64 %s6, %h
  %s8 = add i64 %s7, %i1
  ret i64 %s8
}
"""

# It waits for as many microseconds as it is told.
WAITING = """
declare i32 @usleep(i32)

define void @waiting(i32 %microseconds) {
  call i32 @usleep(i32 %microseconds)
  ret void
}
"""

ADDING = """
define void @adding(ptr %array, i64 %size) {
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %loop ]
  %at = getelementptr double, ptr %array, i64 %i
  %old = load double, ptr %at
  %new = fadd double %old, 1.0
  store double %new, ptr %at
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, %size
  br i1 %done, label %end, label %loop
end:
  ret void
}
"""


def test_arguments_arrive_whatever_their_types_are() -> None:
    machine = Machine(MIXED, "mixed")
    number = np.array([10_000_000], np.int64)
    kinds: list[Any] = [
        *(ctypes.c_int8, ctypes.c_bool, ctypes.c_int16, ctypes.c_float, ctypes.c_double),
        *(ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_int8),
    ]
    call = timed_call(machine.address, kinds, ctypes.c_int64)
    returned, seconds = call(-1, True, -200, 3000.5, 40_000.0, number.ctypes.data, -5, 7, -8)
    assert returned == -1 + 1 - 200 + 3000 + 40_000 + 10_000_000 - 5 + 7 - 8
    assert seconds >= 0


@pytest.mark.parametrize(
    ("type_", "value", "wanted"),
    [
        *(("i1", 1, True), ("i8", -3, -3), ("i16", -300, -300), ("i32", -70_000, -70_000)),
        *(("i64", -(2**40), -(2**40)), ("float", 0.5, 0.5), ("double", 0.1, 0.1)),
    ],
)
def test_results_return_whatever_their_type_is(type_: str, value: float, wanted: float) -> None:
    same = f"define {type_} @same({type_} %x) {{\n  ret {type_} %x\n}}"
    machine = Machine(same, "same")
    returned, _seconds = CConvention((type_,), type_).bound(machine.address)([value])()
    assert returned == wanted
    assert type(returned) is type(wanted)


def test_the_time_is_that_of_the_kernel() -> None:
    machine = Machine(ADDING, "adding")
    array = np.zeros(1_000_000)
    run = CConvention(("ptr", "i64"), "void").bound(machine.address)([array, array.size])
    begun = time.perf_counter()
    _returned, seconds = run()
    passed = time.perf_counter() - begun
    assert array[0] == array[-1] == 1.0
    assert 0 < seconds < passed
    assert array.nbytes / seconds < 1e12, "no machine is that fast"
    small = CConvention(("ptr", "i64"), "void").bound(machine.address)([array, 1])
    assert min(small()[1] for _ in range(20)) < seconds / 10


def test_what_passes_while_it_does_not_run_does_not_count() -> None:
    machine = Machine(WAITING, "waiting")
    run = CConvention(("i32",), "void").bound(machine.address)([300_000])
    begun = time.perf_counter()
    _returned, seconds = run()
    assert time.perf_counter() - begun > 0.3
    assert seconds < 0.15
