"""Kernels as callables over NumPy arrays in any order, and all that does not fit them."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.kernels import (
    BIASED,
    DATA,
    SQUARE,
    WEIGHT,
    aligned,
    assert_right,
    foreign_processor,
    inputs_of,
    kernel_of,
    misaligned,
)
from tests.measure.local.faulty_sketch import FaultySketch
from tests.measure.local.faulty_sketch import config as faulty_config
from tunesmith.compiler.cores import usable_cores
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.kernel.kernel import Kernel
from tunesmith.operators import matmul
from tunesmith.sketches import sketch_for
from tunesmith.target import Target

# -- NumPy ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8"])
def test_it_computes_the_operator_in_each_type(dtype: str) -> None:
    operator = matmul(m=6, n=10, k=8, bias=True, dtype=dtype)
    inputs = inputs_of(operator)
    result = kernel_of(operator)(*inputs)
    assert isinstance(result, np.ndarray)
    assert str(result.dtype) == operator.result.dtype
    assert_right(operator, result, inputs)


def _read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "change",
    [
        misaligned,
        _read_only,
        np.asfortranarray,
        lambda array: np.repeat(array, 2, axis=0)[::2],
        lambda array: array[::-1].copy()[::-1],
        lambda array: np.broadcast_to(array[:1], array.shape),
    ],
    ids=["misaligned", "read-only", "Fortran order", "strided", "reversed", "broadcast"],
)
def test_arrays_may_lie_in_memory_in_any_way(change: Any) -> None:
    data, weight = inputs_of(SQUARE)
    changed = [change(data), change(weight)]
    before = [array.copy() for array in changed]
    assert_right(SQUARE, kernel_of(SQUARE)(*changed), before)
    for array, copy in zip(changed, before, strict=True):
        np.testing.assert_array_equal(array, copy, "an input was written")


def test_results_outlive_the_kernel_its_inputs_and_later_calls() -> None:
    target = Target()
    sketch = sketch_for(BIASED, target)
    program = sketch.program(BIASED, target, sketch.default(BIASED, target))
    kernel = Kernel.build(BIASED, target, program)
    kept = []
    for seed in range(20):
        inputs = inputs_of(BIASED, seed)
        kept.append((kernel(*inputs), BIASED.reference(*inputs)))
        for array in inputs:  # freed at once, its memory goes to the next ones
            array[...] = np.nan
    del kernel, program
    gc.collect()
    for result, expected in kept:
        np.testing.assert_allclose(result, expected, 1e-5, 1e-5)
        result[...] = 0.0  # it is the caller's own


def test_nothing_is_remembered_of_an_array() -> None:
    kernel, inputs = kernel_of(BIASED), inputs_of(BIASED)
    kernel(*inputs)
    inputs[0] *= 2.0
    assert_right(BIASED, kernel(*inputs), inputs)
    references = [weakref.ref(array) for array in inputs]
    del inputs
    assert [reference() for reference in references] == [None] * 3


@pytest.mark.parametrize(
    "out",
    [
        aligned((6, 10)),
        aligned((6, 10), offset=4),
        aligned((10, 6)).T,
        aligned((6, 20))[:, ::2],
    ],
    ids=["aligned", "misaligned", "transposed", "strided"],
)
def test_out_is_filled_and_returned(out: Any) -> None:
    inputs = inputs_of(BIASED)
    assert kernel_of(BIASED)(*inputs, out=out) is out
    assert_right(BIASED, out, inputs)


def test_out_of_a_type_that_dlpack_lacks() -> None:
    operator = matmul(m=6, n=10, k=8, dtype="bfloat16")
    inputs = inputs_of(operator)
    out = np.zeros_like(operator.reference(*inputs))
    kernel_of(operator)(*inputs, out=out)
    assert_right(operator, out, inputs)


@pytest.mark.parametrize("shift", [0, 16, 64 * 4])
def test_out_may_be_an_input_or_overlap_one(shift: int) -> None:
    memory = aligned((16 * 16 + 64 * 4,))
    data, out = (memory[s : s + 256].reshape(16, 16) for s in (0, shift))
    original, weight = inputs_of(SQUARE)
    data[...] = original
    kernel_of(SQUARE)(data, weight, out=out)
    assert_right(SQUARE, out, [original, weight])


# -- what does not fit ----------------------------------------------------------------------------

SHAPE = r"\(16, 16\)"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (DATA[:8], rf"data must be float32 of shape {SHAPE}, not float32 of shape \(8, 16\)"),
        (DATA[None], rf"data must be float32 of shape {SHAPE}, not float32 of shape \(1, 16, 16\)"),
        (DATA.astype("float64"), rf"data must be float32 of shape {SHAPE}, not float64 .+"),
        (DATA.astype(">f4"), rf"data must be float32 of shape {SHAPE}, not >f4 of shape {SHAPE}"),
        (DATA.astype(object), rf"data must be float32 of shape {SHAPE}, not object .+"),
        (DATA.tolist(), r"data must be an array \(NumPy or DLPack\), not list"),
        (None, r"data must be an array \(NumPy or DLPack\), not NoneType"),
        (1.0, r"data must be an array \(NumPy or DLPack\), not float"),
        (DATA[0, 0], r"data must be .+"),
    ],
)
def test_an_input_that_does_not_fit_is_refused(data: Any, message: str) -> None:
    with pytest.raises(UsageError, match=rf"\A{message}\Z"):
        kernel_of(SQUARE)(data, WEIGHT)
    with pytest.raises(UsageError, match=rf"\A{message}\Z"):
        kernel_of(SQUARE).bind(data, WEIGHT)


@pytest.mark.parametrize("inputs", [(), (DATA,), (DATA, WEIGHT, DATA)], ids=len)
def test_a_wrong_number_of_inputs_is_refused(inputs: tuple[Any, ...]) -> None:
    message = rf"\Amatmul takes 2 arrays \(data, weight\), not {len(inputs)}\Z"
    with pytest.raises(UsageError, match=message):
        kernel_of(SQUARE)(*inputs)
    with pytest.raises(UsageError, match=message):
        kernel_of(SQUARE).bind(*inputs)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.zeros((16, 15), np.float32), rf"out must be float32 of shape {SHAPE}, not .+"),
        (np.zeros((16, 16)), rf"out must be float32 of shape {SHAPE}, not float64 .+"),
        (_read_only(np.zeros((16, 16), np.float32)), "out is read-only: give an array that .+"),
        ([], r"out must be an array \(NumPy or DLPack\), not list"),
    ],
)
def test_an_output_that_does_not_fit_is_refused(out: Any, message: str) -> None:
    with pytest.raises(UsageError, match=rf"\A{message}\Z"):
        kernel_of(SQUARE)(DATA, WEIGHT, out=out)


# -- calls for timing, and what was compiled ------------------------------------------------------


def test_a_bound_call_works_on_copies() -> None:
    inputs = inputs_of(SQUARE)
    call = kernel_of(SQUARE).bind(*inputs)
    for array in inputs:
        array[...] = np.nan
    call()
    assert isinstance(call, partial)
    arguments = call.args
    assert_right(SQUARE, arguments[-1].numpy(), inputs_of(SQUARE))


def test_the_source_is_shown_as_llvm_ir_and_as_assembly() -> None:
    kernel = kernel_of(SQUARE)
    assert "define" in kernel.source("ll")
    assert ".text" in kernel.source("asm")
    with pytest.raises(UsageError, match=r"\Aa kernel's source is ll .+, not c\Z"):
        kernel.source("c")


def run_without(program: str, *variables: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program in a process of its own, without these environment variables."""
    environment = {name: value for name, value in os.environ.items() if name not in variables}
    environment["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_runs_on_all_cores_of_the_target_and_on_no_more() -> None:
    program = """
import tvm
from tests.kernels import DATA, SQUARE, WEIGHT, kernel_of
from tunesmith.target import Target
threads = tvm.get_global_func("runtime.NumThreads")
kernel_of(SQUARE)(DATA, WEIGHT)
print(threads() == Target().core_count)
kernel_of(SQUARE, Target(cores=1))(DATA, WEIGHT)
print(threads() == 1)
kernel_of(SQUARE).bind(DATA, WEIGHT)
print(threads() == Target().core_count)
"""
    result = run_without(program, "TVM_NUM_THREADS", "OMP_NUM_THREADS")
    assert result.stdout.split() == ["True"] * 3, result.stderr


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="the machine has one processor")
def test_it_stays_on_the_processors_of_its_process() -> None:
    """TVM by itself would bind threads to the first ones of the machine."""
    program = """
import os, sys
from pathlib import Path
last = max(os.sched_getaffinity(0))
os.sched_setaffinity(0, {last})
from tests.kernels import DATA, SQUARE, WEIGHT, kernel_of
from tunesmith.target import Target
kernel_of(SQUARE, Target(cores=2))(DATA, WEIGHT)
lines = [line for status in Path("/proc/self/task").glob("*/status")
         for line in status.read_text().splitlines() if line.startswith("Cpus_allowed_list")]
print(len(lines) >= 2, {line.split()[1] for line in lines} == {str(last)})
"""
    result = run_without(program, "TVM_NUM_THREADS", "TVM_BIND_THREADS")
    assert result.stdout.split() == ["True"] * 2, result.stderr


@pytest.mark.skipif(
    usable_cores() < max(2, os.cpu_count() or 1),
    reason="TVM binds no thread, as this process may not use all processors, or there is one",
)
def test_who_calls_it_can_keep_off_the_processors_of_its_workers() -> None:
    program = """
import os, threading
from pathlib import Path
from tests.kernels import DATA, SQUARE, WEIGHT, kernel_of
from tunesmith.compiler.thread_pool import keep_off_bound_processors
kernel_of(SQUARE)(DATA, WEIGHT)
keep_off_bound_processors()
threads = {int(folder.name) for folder in Path("/proc/self/task").iterdir()}
others = map(os.sched_getaffinity, threads - {threading.get_native_id()})
bound = [processors for processors in others if len(processors) == 1]
print(len(bound) > 0, os.sched_getaffinity(0).isdisjoint(set().union(*bound)))
"""
    result = run_without(program, "TVM_NUM_THREADS", "TVM_BIND_THREADS")
    assert result.stdout.split() == ["True"] * 2, result.stderr


# -- programs that cannot be ----------------------------------------------------------------------


def test_a_program_that_the_compiler_refuses_is_an_error_in_one_line() -> None:
    with pytest.raises(TunesmithError, match=r"\Athe compiler failed: .+\Z"):
        Kernel.build(SQUARE, Target(), "no program")


def test_a_program_without_a_main_function_is_an_error_in_one_line() -> None:
    target, config = Target(), faulty_config("no_program")
    kernel = Kernel.build(SQUARE, target, FaultySketch().program(SQUARE, target, config), config)
    with pytest.raises(TunesmithError, match=r"\Athe program cannot be called: .+'main'\Z"):
        kernel(DATA, WEIGHT)


def test_a_kernel_for_another_processor_refuses_to_run_here() -> None:
    name = foreign_processor()
    kernel = kernel_of(SQUARE, Target(mcpu=name))
    with pytest.raises(
        TunesmithError, match=rf"\Athe kernel was compiled for {name} and needs .+: compile it here"
    ):
        kernel(DATA, WEIGHT)
