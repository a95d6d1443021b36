"""Networks for processors that have more instructions than this machine's."""

from __future__ import annotations

import os

import pytest

from tests.networks.small import Residual, random_input, seeded
from tunesmith.compiler import llvm
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.networks import from_torch
from tunesmith.networks.build.kernels import layer_kernel
from tunesmith.networks.build.selection import picked
from tunesmith.networks.processors import missing_instructions
from tunesmith.operators import conv2d
from tunesmith.target import Target, instructions
from tunesmith.task import Task


@pytest.fixture(scope="module")
def other() -> Target:
    """The processor with the most instructions, if this machine lacks some of them."""
    if os.uname().machine != "x86_64":
        pytest.skip("only processors of x86 are known to have as many instructions as others")
    most = max(sorted(llvm.processors()), key=lambda name: len(instructions(name)))
    if not missing_instructions(most):
        pytest.skip(f"this machine has all that {most} has, which LLVM knows most of")
    return Target(mcpu=most, cores=2)


def test_they_are_built_and_not_run(other: Target) -> None:
    """Neither in the comparison of programs inside of the network nor with its source."""
    network = from_torch(seeded(Residual()), random_input(1, 3, 8, 8), other)
    compiled = network.build(contenders=2)
    assert compiled.relative_error is None
    assert compiled.unchecked is not None
    assert f"was compiled for {other.processor} and needs " in compiled.unchecked


def test_weights_are_laid_out_by_code_for_this_machine(other: Target) -> None:
    task = Task(conv2d(ci=16, h=8, w=8, co=16, kernel=3, constant_weights=True), other)
    choices = picked(problems_of(task), 0)
    kernels = [layer_kernel("layer", choice) for choice in choices[:8]]
    preparing = [kernel.preparing for kernel in kernels if kernel.preparing is not None]
    assert preparing
    for module in preparing:
        assert f'"target-cpu"="{Target().processor}"' in module.inspect_source("ll")
    assert f'"target-cpu"="{other.processor}"' in kernels[0].module.inspect_source("ll")
