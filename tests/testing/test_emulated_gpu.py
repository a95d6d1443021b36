"""CUDA code on the CPU: right programs pass, and what a GPU would get wrong is wrong here too."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tunesmith.cuda.lowering import cuda_code
from tunesmith.errors import MissingDependencyError, TunesmithError
from tunesmith.measure.trial.verify import poison_like
from tunesmith.operators import matmul
from tunesmith.sketches.papers.cuda_gemm_424 import CudaGemm424
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.testing.emulated_gpu import nvcc
from tunesmith.testing.emulated_gpu.in_process import run_cuda_code
from tunesmith.testing.emulated_gpu.nvcc import compile_emulated
from tunesmith.testing.sketch import mismatch

TARGET = Target("cuda", arch="sm_90")
PRODUCT = matmul(m=16, n=16, k=8)
SKETCH = CudaGemm424()
CONFIG = Config({"tile_m": (2, 2, 4, 1), "tile_n": (1, 1, 8, 2), "tile_k": (4, 2)})


def results(change: Callable[[str], str]) -> tuple[Any, Any]:
    """What the changed code of a product computes, and the reference."""
    code = cuda_code(SKETCH.program(PRODUCT, TARGET, CONFIG), TARGET.to_tvm())
    inputs = PRODUCT.make_inputs(0)
    expected = PRODUCT.reference(*inputs)
    changed = replace(code, source=change(code.source))
    return run_cuda_code(changed, [*inputs, poison_like(expected)]), expected


def test_a_product_of_shared_tiles() -> None:
    assert mismatch(SKETCH, PRODUCT, CONFIG, TARGET) is None
    output, expected = results(lambda source: source)
    np.testing.assert_allclose(output, expected, atol=1e-5)


@pytest.mark.parametrize(
    "change",
    [
        lambda source: source.replace("__syncthreads();", ""),
        lambda source: source.replace("((int)threadIdx.x)", "((int)threadIdx.y)"),
        lambda source: source.replace("blockIdx.y", "blockIdx.x"),
    ],
    ids=["no barriers", "the wrong thread", "the wrong block"],
)
def test_wrong_code_gives_wrong_results(change: Callable[[str], str]) -> None:
    output, expected = results(change)
    assert not np.allclose(output, expected, rtol=1e-3)


def test_threads_that_do_not_come_to_the_same_barrier_are_an_error() -> None:
    with pytest.raises(TunesmithError, match="the same barrier"):
        results(lambda source: source.replace("__syncthreads", "if (threadIdx.x) __syncthreads", 1))


def test_an_access_outside_of_memory_is_an_error_and_the_next_call_is_none() -> None:
    # No process has memory in the first page. Far beyond an array this one may have some.
    with pytest.raises(TunesmithError, match="outside of memory"):
        results(lambda source: source.replace("= data_ptr[", "= ((float*)64)["))
    output, expected = results(lambda source: source)
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_code_is_compiled_once_where_it_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TUNESMITH_EMULATED_KEPT", str(tmp_path / "kept"))
    source = 'extern "C" __global__ void main_kernel(int* count) { *count = 1; }'
    first = compile_emulated(source, "sm_90")
    (kept,) = (tmp_path / "kept").iterdir()
    assert first == b"TUNESMITH EMULATED 90 %d\n" % kept.stat().st_size + kept.read_bytes()
    monkeypatch.setattr(nvcc, "_compile", lambda *_: b"another")
    assert compile_emulated(source, "sm_90") == first
    assert compile_emulated(source.replace("1", "2"), "sm_90").endswith(b"another")
    monkeypatch.delenv("TUNESMITH_EMULATED_KEPT")
    assert compile_emulated(source, "sm_90").endswith(b"another")


def test_a_missing_compiler_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    with pytest.raises(MissingDependencyError, match=r"C\+\+ compiler"):
        results(lambda source: source)
