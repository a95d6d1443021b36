"""The parts of estimates: what a machine's figures were asked for, by every sketch."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tunesmith.features.estimate_parts import PARTS, Parts, noted, noting
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.operators import Operator, conv2d, depthwise_conv2d, matmul, softmax
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.target import Target
from tunesmith.task import Task

CPU = Target(mcpu="znver4", cores=4)
AVX2 = Target(mcpu="znver3", cores=2)


def test_nobody_notes_what_nobody_wants_to_know() -> None:
    assert noted() is None
    with noting() as parts:
        assert noted() is parts
    assert noted() is None


def test_what_a_machine_is_asked_for() -> None:
    machine = Machine.of(CPU)
    with noting() as parts:
        l2, l3, memory = (2.0 * size for size in machine.usable_bytes)
        machine.stream_cycles(100.0, 1.0)  # of L1, which costs nothing
        machine.stream_cycles(100.0, l2)
        machine.stream_cycles(200.0, l3)
        machine.traffic_cycles(memory=100.0)
        machine.overlapped(30.0, 10.0)
        machine.seconds(machine.rounds(5), regions=2)
    assert memory > l3 > l2
    computing, moving, of_l2, of_l3, of_memory, imbalance, regions = parts.numbers()
    assert (computing, moving) == (math.log2(31), math.log2(11))
    assert (of_l2, of_l3, of_memory) == (math.log2(101), math.log2(201), math.log2(101))
    assert imbalance == math.log2(8 / 5)
    assert regions == 2.0


def test_nothing_noted_is_finite() -> None:
    assert np.isfinite(Parts().numbers()).all()
    endless = Parts(computing=math.inf, moving=math.inf, bytes=[math.inf, 0.0, 3.0])
    assert endless.numbers() == (0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0)
    assert len(Parts().numbers()) == len(PARTS)


@pytest.mark.parametrize("target", [CPU, AVX2, Target(kind="cuda", arch="sm_90")], ids=str)
@pytest.mark.parametrize(
    "operator",
    [
        conv2d(ci=32, h=14, w=14, co=64, kernel=3, padding=1),
        matmul(m=128, n=96, k=64),
        depthwise_conv2d(c=32, h=14, w=14, kernel=3, padding=1),
        softmax(m=64, n=100),
    ],
    ids=lambda operator: operator.name,
)
def test_each_sketch_says_what_its_estimates_are_made_of(
    operator: Operator, target: Target
) -> None:
    for problem in problems_of(Task(operator, target)):
        configs = problem.space.sample_many(12, np.random.default_rng(0))
        seconds, parts = problem.estimates_with_parts(configs)
        np.testing.assert_array_equal(seconds, problem.estimates(configs))
        assert not np.isnan(seconds).any()
        known = np.isfinite(seconds)
        assert known.any() or target.kind == "cuda"
        if not known.any():
            continue
        assert np.isfinite(parts[known]).all()
        assert (parts[known] >= 0.0).all()
        assert (parts[known] < 64.0).all(), "logarithms"
        cycles = parts[:, [PARTS.index("computing"), PARTS.index("moving")]]
        assert (cycles[known].max(axis=1) > 0.0).all()
        again = problem.estimates_with_parts(configs[::-1])[1][::-1]
        np.testing.assert_array_equal(parts, again, "whatever was estimated before")


def test_tasks_that_do_not_divide_among_the_cores_are_out_of_balance() -> None:
    (problem, *_) = problems_of(Task(matmul(m=96, n=96, k=96), CPU), ["cpu_gemm"])
    configs = problem.space.sample_many(200, np.random.default_rng(1))
    _, parts = problem.estimates_with_parts(configs)
    imbalance = parts[:, PARTS.index("imbalance")]
    assert imbalance.min() >= 0.0
    assert np.ptp(imbalance) > 0.5
