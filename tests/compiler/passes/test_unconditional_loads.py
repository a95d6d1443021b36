"""Loads of padded images: all of them are made, and what is not there is not used."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.compiled import needs_nvcc, ptx_of
from tests.emulated import needs_compiler
from tunesmith.cuda.lowering import cuda_source
from tunesmith.measure.trial.verify import poison_like
from tunesmith.operators import Operator, conv2d, pool2d, workload
from tunesmith.sketches import sketches
from tunesmith.target import Target
from tunesmith.testing.emulated_gpu.in_process import run_cuda

TARGET = Target("cuda", arch="sm_90")
SMALL = conv2d(ci=2, h=6, w=6, co=2, kernel=3, padding=1)


def program_of(operator: Operator, sketch: str, **changes: Any) -> Any:
    chosen = sketches()[sketch]
    config = chosen.default(operator, TARGET).replace(**changes)
    return chosen.program(operator, TARGET, config)


@needs_compiler
@pytest.mark.parametrize("stage", [True, False], ids=["staged", "in place"])
def test_the_first_element_is_read_in_vain(stage: bool) -> None:
    """It may be anything: only the windows that it lies in have to do with it."""
    rng = np.random.default_rng(0)
    data, weight = (rng.normal(size=a.shape).astype("float32") for a in SMALL.arguments)
    expected = SMALL.reference(data, weight)
    data[0, 0, 0, 0] = np.nan
    program = program_of(SMALL, "cuda_tiled", stage_pad=stage)
    output = run_cuda(program, TARGET, [data, weight, poison_like(expected)])
    touched = np.zeros(expected.shape, bool)
    touched[:, :, :2, :2] = True
    assert np.isnan(output[touched]).all()
    np.testing.assert_allclose(output[~touched], expected[~touched], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("operator", "sketch"),
    [
        (workload("resnet18.C6"), "cuda_conv2d_direct"),
        (workload("resnet18.C1"), "cuda_tiled"),
        (pool2d(c=8, h=12, w=12, kernel=3, stride=2, padding=1), "cuda_tiled"),
    ],
    ids=lambda given: getattr(given, "name", given),
)
def test_no_load_stands_in_a_branch(operator: Operator, sketch: str) -> None:
    source = cuda_source(program_of(operator, sketch), TARGET.to_tvm())
    assert re.search(r"float loaded\w* = data_ptr\[", source)
    assert "condval" not in source, "TVM's name for what a branch computes"


@needs_nvcc
def test_nvcc_makes_no_branches_either(tmp_path: Path) -> None:
    """All threads copy 19 elements of the image in a step, and then some of them another one."""
    source = cuda_source(program_of(workload("resnet18.C6"), "cuda_conv2d_direct"), TARGET.to_tvm())
    step = ptx_of(source, tmp_path).split("bar.sync")[1]
    between = step.split("ld.global")[1:19]
    assert len(between) == 18
    assert not any(re.search(r"\bbra\b", part) for part in between)


# -- what depends on more than one condition ------------------------------------------------------

Expression = Any


def lowered(value: Callable[[Any, Any, Any], Expression]) -> str:
    """The CUDA code of 64 threads that compute ``value(i, a, b)`` from 16 elements of each."""
    from tvm import te
    from tvm.s_tir import Schedule

    a, b = (te.placeholder((16,), "float32", name) for name in "ab")
    result = te.compute((64,), lambda i: value(i, a, b), name="c")
    schedule = Schedule(te.create_prim_func([a, b, result]).with_attr("global_symbol", "main"))
    schedule.bind(schedule.get_loops(schedule.get_sblock("c"))[0], "threadIdx.x")
    source = cuda_source(schedule.mod, TARGET.to_tvm())
    return source[source.rindex("main_kernel(") :]


def either(condition: Expression, value: Expression, other: Expression) -> Expression:
    from tvm import tirx

    return tirx.if_then_else(condition, value, other)


def both(*conditions: Expression) -> Expression:
    from tvm import tirx

    return tirx.all(*conditions)


@pytest.mark.parametrize(
    "value",
    [
        # Two tensors one after the other: the second one's index is negative in the first's part.
        lambda i, a, b: either(i < 16, a[i] * 2, either(i < 24, b[i - 16], 0.0)),
        lambda i, a, b: either(i < 16, either(b[i] > 0, a[i], 0.0), 0.0),
        lambda i, a, b: either(both(i < 16, b[i] > 0), a[i], 0.0),
        lambda i, a, b: either(i < 16, a[either(b[i] > 0, i, 0)], 0.0),
    ],
    ids=["in the other branch", "in the branch", "in its condition", "in its index"],
)
def test_a_load_that_depends_on_more_stays_in_its_branch(
    value: Callable[[Any, Any, Any], Expression],
) -> None:
    assert "loaded" not in lowered(value)


def test_parts_of_a_condition_are_not_skipped() -> None:
    code = lowered(lambda i, a, b: either(both(i >= 2, i < 16, i % 3 < 2), a[i], b[0]))
    assert "loaded" in code
    assert "&&" not in code


def test_loads_without_a_condition_are_as_they_were() -> None:
    assert "loaded" not in lowered(lambda i, a, b: a[i % 16] + b[i // 4])
