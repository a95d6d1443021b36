"""What no operator covers on a GPU: by TVM's rules, by a plain schedule, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te
from tvm.s_tir import Schedule, dlight

from tests.emulated import needs_compiler
from tunesmith.errors import TunesmithError
from tunesmith.networks.build import gpu_schedules
from tunesmith.networks.build.gpu_schedules import scheduled_for_gpu
from tunesmith.target import Target
from tunesmith.testing.emulated_gpu.in_process import run_cuda

GPU = Target("cuda", arch="sm_90")


def rows_and_columns() -> Any:
    """The sums of the rows of a matrix, and the matrix times two, of its columns."""
    data = te.placeholder((6, 40), name="data")
    k = te.reduce_axis((0, 40), "k")
    sums = te.compute((6,), lambda i: te.sum(data[i, k], k), name="sums")
    result = te.compute((40, 6), lambda j, i: te.tanh(data[i, j]) + sums[i], name="result")
    return tvm.IRModule({"main": te.create_prim_func([data, result])})


def scheduled(module: Any) -> Any:
    with GPU.to_tvm():
        return scheduled_for_gpu()(module)


def without_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if none of TVM's rules took a function: some say so, one fails."""

    def fails(*_: object) -> None:
        raise AssertionError("it expects another function")

    for name in ("GEMV", "Reduction", "GeneralReduction", "Transpose", "Fallback"):
        monkeypatch.setattr(getattr(dlight.gpu, name), "apply", lambda *_: None)
    monkeypatch.setattr(dlight.gpu.Matmul, "apply", fails)


def with_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is."""


@needs_compiler
@pytest.mark.parametrize("rules", [with_rules, without_rules])
def test_threads_compute_what_is_meant(
    rules: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    rules(monkeypatch)
    data = np.random.default_rng(0).standard_normal((6, 40)).astype(np.float32)
    program = scheduled(rows_and_columns())
    found = run_cuda(program, GPU, [data, np.full((40, 6), np.nan, np.float32)])
    np.testing.assert_allclose(found, np.tanh(data).T + data.sum(1), rtol=1e-4, atol=1e-5)


def test_a_function_that_has_threads_stays_as_it_is() -> None:
    schedule = Schedule(rows_and_columns())
    for name in ("sums", "result"):
        schedule.bind(schedule.get_loops(schedule.get_sblock(name))[0], "threadIdx.x")
    tvm.ir.assert_structural_equal(scheduled(schedule.mod), schedule.mod)


@pytest.mark.parametrize("fails", [True, False])
def test_nothing_is_left_to_the_processor(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the plain schedule cannot be made, or leaves a stage without threads."""
    without_rules(monkeypatch)

    def plain(function: Any) -> Any:
        schedule = Schedule(tvm.IRModule({"main": function}))
        if fails:
            schedule.get_sblock("there is none")
        schedule.bind(schedule.get_loops(schedule.get_sblock("result"))[0], "threadIdx.x")
        return schedule

    monkeypatch.setattr(gpu_schedules, "_plain_schedule", plain)
    with pytest.raises((TunesmithError, RuntimeError), match="no schedule for a GPU is known for"):
        scheduled(rows_and_columns())
