"""What nvcc makes of programs, where it is installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tunesmith.cuda.compiler import Resources, compile_cuda, has_nvcc, nvcc
from tunesmith.cuda.lowering import cuda_source
from tunesmith.errors import InstantiationError
from tunesmith.operators import Operator
from tunesmith.sketches.sketch import Sketch
from tunesmith.target import Target

needs_nvcc = pytest.mark.skipif(not has_nvcc(), reason="no CUDA compiler on this machine (nvcc)")


def ptx_of(source: str, folder: Path, arch: str = "sm_90") -> str:
    """Programs before they are machine code; the files are left in a folder."""
    code, ptx = folder / "kernel.cu", folder / "kernel.ptx"
    code.write_text(source)
    command = [nvcc(), "-ptx", f"-arch={arch}", "-O3", "-std=c++17", "-o", str(ptx), str(code)]
    subprocess.run(command, check=True, capture_output=True)
    return ptx.read_text()


def resources(sketch: Sketch, operator: Operator, arch: str) -> list[Resources]:
    """What the kernels of the default take, and those of the first of some random configs that is
    not refused."""
    target = Target("cuda", arch=arch)
    found: list[Resources] = []
    programs = 0
    random = sketch.space(operator, target).sample_many(9, np.random.default_rng(1))
    for config in [sketch.default(operator, target), *random]:
        try:
            program = sketch.program(operator, target, config)
        except InstantiationError:
            continue
        found += compile_cuda(cuda_source(program, target.to_tvm()), arch).resources.values()
        programs += 1
        if programs == 2:
            return found
    raise AssertionError("all of the random configs are refused")
