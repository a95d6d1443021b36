"""Tuned kernels as what is evolved: they run on as many threads as where they will be used."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tunesmith as ts
from tunesmith.compiler.cores import usable_cores
from tunesmith.evolve.evaluation.harness import Tests
from tunesmith.evolve.evaluation.pool import EvaluationPool, EvaluationSettings
from tunesmith.evolve.tuned import tuned_kernel
from tunesmith.kernel.kernel import Kernel
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.operators import Operator
from tunesmith.space.config import Config

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

CORES = usable_cores()


@pytest.mark.skipif(CORES < 2, reason="there is one core only")
def test_a_variant_that_is_right_on_one_thread_alone_is_wrong() -> None:
    task = ts.Task(ts.operators.matmul(m=256, n=256, k=64), ts.Target(cores=CORES))
    program, tests = tuned_kernel(ts.compile(task))
    subject = program.subject(Tests.of(tests))
    assert subject.threads == CORES
    text = subject.representation.apply([])
    head = re.search(r"^define .*@__tvm_parallel_lambda[\w.]*\(i32 [^%,]*(%[\w.]+)", text, re.M)
    assert head is not None
    start = text.index("\n", head.end())
    end = text.index("\n}", start)
    first = re.sub(rf"{re.escape(head.group(1))}\b", "0", text[start:end])
    with EvaluationPool(subject, EvaluationSettings(timeout=60.0)) as pool:
        right = pool.evaluate(text, limit=1e9)
        alone = pool.evaluate(text[:start] + first + text[end:], limit=1e9)
    assert right.ran, right.message
    assert right.error == 0.0
    assert alone.ran, alone.message
    assert alone.error > 0.1, "the parts of the other threads are missing"


@pytest.mark.parametrize(
    "operator",
    [
        ts.operators.matmul(m=32, n=24, k=16),
        ts.operators.conv2d(ci=8, h=10, w=10, co=8, kernel=3, bias=True, residual=True),
        ts.operators.dense(m=4, n=24, k=16, bias=True, relu=True),
    ],
    ids=lambda operator: operator.name,
)
def test_arguments_are_given_in_the_order_of_the_compiler(operator: Operator) -> None:
    _check(operator, ts.compile(ts.Task(operator, ts.Target(cores=1))))


def test_a_kernel_that_cannot_fail_returns_nothing() -> None:
    operator = ts.operators.conv2d(ci=8, h=10, w=10, co=8, kernel=3)
    config = {
        "tile_f": (1, 1, 8),
        "tile_y": (1, 4, 2),
        "tile_x": (1, 1, 8),
        "tile_rc": (8, 1),
        "tile_ry": (3, 1),
        "tile_rx": (1, 3),
        "order_outer": ("f", "y", "x"),
        "order_middle": ("f", "y", "x"),
        "order_reduction": ("ry", "rc", "rx"),
        "accumulate": "registers",
        "vectorize": "x",
        "parallel": 1,
        "unroll": 1,
        "pack_data": False,
        "pack_weight": False,
    }
    (problem,) = problems_of(ts.Task(operator, ts.Target(cores=1)), ["cpu_tiled"])
    kernel = problem.kernel(Config(config))
    assert re.search(r"^define .* void @main_compute_\(", kernel.source("ll"), re.M)
    _check(operator, kernel)


def _check(operator: Operator, kernel: Kernel) -> None:
    program, tests = tuned_kernel(kernel)
    subject = program.subject(Tests.of(tests))
    call = subject.callable(subject.representation.apply([]))
    for seed, arguments in enumerate(tests):
        call(*arguments)
        wanted = operator.reference(*operator.make_inputs(seed))
        found = [it for it in arguments if isinstance(it, np.ndarray) and it.shape == wanted.shape]
        assert any(np.allclose(it, wanted, rtol=1e-4, atol=1e-4) for it in found)
