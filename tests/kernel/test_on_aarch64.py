"""Kernels for AArch64: built and saved here, loaded and called on an emulated board."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.command import Process, Ran
from tests.measure.remote.aarch64 import aarch64_python, needs_aarch64
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.operators import conv2d
from tunesmith.target import Target
from tunesmith.task import Task

CALLING = """
import sys, numpy as np, tunesmith as ts
try:
    kernel = ts.Kernel.load(sys.argv[1])
except ts.TunesmithError as error:
    sys.exit(str(error))
data, weights = kernel.operator.make_inputs(seed=0)
np.save(sys.argv[2], [kernel(data, weights), kernel.prepare(weights)(data)])
"""
LAYER = conv2d(ci=8, h=6, w=6, co=8, kernel=3, constant_weights=True)


def saved(processor: str, folder: Path) -> Path:
    """The library of a kernel."""
    task = Task(LAYER, Target(mcpu=processor, cores=2, triple="aarch64-linux-gnu"))
    problem = problems_of(task)[0]
    library, *_ = problem.kernel(problem.default).save(folder / "conv.so")
    return library


def called(library: Path, *, processor: str) -> Ran:
    """What comes of loading and calling it on a board with a processor."""
    python, environment = aarch64_python()
    environment["QEMU_CPU"] = processor
    words = ("-c", CALLING, library, library.with_suffix(".npy"))
    process = Process.start(words, command=python, env=environment)
    with process.cleaned_up():
        return process.wait()


@pytest.mark.slow
@needs_aarch64
def test_a_board_without_the_compiler_calls_it(tmp_path: Path) -> None:
    library = saved("cortex-a72", tmp_path)
    ran = called(library, processor="cortex-a72")
    assert (ran.code, ran.err) == (0, "")
    expected = LAYER.reference(*LAYER.make_inputs(seed=0))
    for found in np.load(library.with_suffix(".npy")):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@needs_aarch64
def test_a_board_whose_processor_lacks_instructions_refuses_it(tmp_path: Path) -> None:
    ran = called(saved("neoverse-n1", tmp_path), processor="cortex-a72")
    reason = "needs dotprod, fullfp16, which this processor lacks: compile it here"
    assert (ran.code, ran.err) == (1, f"the kernel was compiled for neoverse-n1 and {reason}\n")
