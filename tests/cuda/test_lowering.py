"""Programs as launches: what TVM's host code would do is what is read from it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from tests.emulated import needs_compiler
from tunesmith.compiler.compile import compiled
from tunesmith.cuda.lowering import (
    Function,
    Launch,
    compiling_by,
    cuda_code,
    cuda_source,
    functions_from_json,
)
from tunesmith.errors import TunesmithError
from tunesmith.operators import Operator, conv2d, matmul, softmax
from tunesmith.sketches.registry import sketches_for
from tunesmith.target import Target
from tunesmith.testing.emulated_gpu.in_process import run_cuda

TARGET = Target("cuda", arch="sm_90")
SIZE = 48


def two_stages(*, shared_bytes: int = 0) -> Any:
    """Twice the transpose of ``a``, then the transpose of that and one: ``2 a + 1``.

    With ``shared_bytes`` the second stage goes through so much shared memory of the launch.
    """
    from tvm import te
    from tvm.s_tir import Schedule

    a = te.placeholder((SIZE, SIZE), name="a")
    b = te.compute((SIZE, SIZE), lambda i, j: 2.0 * a[j, i], name="b")
    c = te.compute((SIZE, SIZE), lambda i, j: b[j, i] + 1.0, name="c")
    schedule = Schedule(te.create_prim_func([a, c]))
    for name in "bc":
        block = schedule.get_sblock(name)
        i, j = schedule.get_loops(block)
        schedule.bind(i, "blockIdx.y")
        schedule.bind(j, "threadIdx.x")
        if name == "c" and shared_bytes:
            copy = schedule.cache_read(block, 0, "shared.dyn")
            schedule.compute_at(copy, i)
            schedule.bind(schedule.get_loops(copy)[-1], "threadIdx.x")
    return schedule.mod


def test_a_program_is_a_sequence_of_launches_with_workspaces() -> None:
    code = cuda_code(two_stages(), TARGET.to_tvm())
    grid, block = (1, SIZE, 1), (SIZE, 1, 1)
    assert code.functions == {
        "main": Function(
            launches=(
                Launch("main_kernel", grid, block, 0, (0, 2)),
                Launch("main_kernel_1", grid, block, 0, (2, 1)),
            ),
            workspaces=(4 * SIZE * SIZE,),
        )
    }
    assert "main_kernel_1(" in code.source


def test_shared_memory_that_is_given_at_the_launch() -> None:
    code = cuda_code(two_stages(shared_bytes=4 * SIZE), TARGET.to_tvm())
    assert [launch.shared_bytes for launch in code.functions["main"].launches] == [0, 4 * SIZE]


def test_launches_survive_json() -> None:
    functions = cuda_code(two_stages(), TARGET.to_tvm()).functions
    told = {name: dataclasses.asdict(function) for name, function in functions.items()}
    assert functions_from_json(json.loads(json.dumps(told))) == functions


@needs_compiler
@pytest.mark.parametrize("shared_bytes", [0, 4 * SIZE])
def test_the_launches_compute_what_the_program_says(shared_bytes: int) -> None:
    a = np.arange(SIZE * SIZE, dtype=np.float32).reshape(SIZE, SIZE)
    program = two_stages(shared_bytes=shared_bytes)
    result = run_cuda(program, TARGET, [a, np.full_like(a, np.nan)])
    np.testing.assert_array_equal(result, 2 * a + 1)


def test_a_program_without_threads_is_none_for_a_gpu() -> None:
    from tvm import te

    a = te.placeholder((4,), name="a")
    program = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1.0, name="b")])
    import tvm

    with pytest.raises(TunesmithError, match="bind its loops to threads"):
        cuda_code(tvm.IRModule({"main": program}), TARGET.to_tvm())


@pytest.mark.parametrize(
    "operator",
    [
        matmul(m=64, n=64, k=64),
        matmul(m=64, n=64, k=64, dtype="float16"),
        conv2d(ci=16, h=14, w=14, co=16, kernel=3, padding=1),
        softmax(m=8, n=64),
    ],
    ids=lambda operator: operator.key,
)
def test_a_kernel_has_the_code_that_was_measured(operator: Operator) -> None:
    target = TARGET.to_tvm()
    for sketch in sketches_for(operator, TARGET):
        program = sketch.program(operator, TARGET, sketch.default(operator, TARGET))
        with compiling_by(lambda _: b""):
            kernel = compiled(program, target).mod.imports[0].inspect_source()
        assert kernel == cuda_source(program, target), sketch.name
