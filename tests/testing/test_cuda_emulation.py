"""CUDA code on the CPU: right programs pass, and what a GPU would get wrong is wrong here too."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tunesmith.cuda_compiler import cuda_source
from tunesmith.errors import MissingDependencyError
from tunesmith.measure.verify import poison_like
from tunesmith.operators import matmul
from tunesmith.sketches.cuda_gemm_424 import CudaGemm424
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.testing.cuda_emulation import run_cuda, run_cuda_source
from tunesmith.testing.sketch import mismatch

TARGET = Target("cuda", arch="sm_90")
PRODUCT = matmul(m=16, n=16, k=8)
SKETCH = CudaGemm424()
CONFIG = Config({"tile_m": (2, 2, 4, 1), "tile_n": (1, 1, 8, 2), "tile_k": (4, 2)})


def results(change: Callable[[str], str]) -> tuple[Any, Any]:
    """What the changed code of a product computes, and the reference."""
    program = SKETCH.program(PRODUCT, TARGET, CONFIG)
    inputs = PRODUCT.make_inputs(0)
    expected = PRODUCT.reference(*inputs)
    output = poison_like(expected)
    source = change(cuda_source(program, TARGET.to_tvm()))
    run_cuda_source(PRODUCT, program, source, inputs, output)
    return output, expected


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


def test_a_missing_compiler_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    program = SKETCH.program(PRODUCT, TARGET, CONFIG)
    inputs = PRODUCT.make_inputs(0)
    with pytest.raises(MissingDependencyError, match=r"C\+\+ compiler"):
        run_cuda(PRODUCT, TARGET, program, inputs, PRODUCT.reference(*inputs))
