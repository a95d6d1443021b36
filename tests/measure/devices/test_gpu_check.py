"""Outputs on the GPU are judged as NumPy judges them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tests.emulated import needs_compiler
from tunesmith.measure.devices.gpu_check import GpuCheck, check_source
from tunesmith.measure.trial.verify import find_mismatch
from tunesmith.testing.emulated_gpu.in_process import emulated_gpu
from tunesmith.testing.emulated_gpu.nvcc import compile_emulated

pytestmark = needs_compiler

TOLERANCE = (1e-2, 1e-3)

FLOATS = (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)
ODD = [0.0, -0.0, 1.0, -1.5, 1e-5, 6e-8, 3e4, np.inf, -np.inf, np.nan]


def check_of(output: npt.NDArray[Any], reference: npt.NDArray[Any]) -> GpuCheck:
    source = check_source(output.dtype, reference, TOLERANCE)
    return GpuCheck(emulated_gpu(), compile_emulated(source, "sm_90"), reference)


def agree(output: npt.NDArray[Any], reference: npt.NDArray[Any]) -> bool:
    """Whether the GPU passes each element that NumPy passes, and no other; and the whole."""
    gpu = emulated_gpu()
    verdicts = []
    check = check_of(output, reference)
    verdicts.append((check.passes(gpu.upload(output)), output))
    for place in range(output.size):
        # One wrong element, if it is, among right ones.
        mixed = reference.astype(output.dtype)
        mixed[place] = output[place]
        verdicts.append((check.passes(gpu.upload(mixed)), mixed))
    return all(
        passed == (find_mismatch(array, reference, *TOLERANCE) is None)
        for passed, array in verdicts
    )


@pytest.mark.parametrize("kind", FLOATS, ids=lambda kind: np.dtype(kind).name)
def test_floats_of_all_kinds(kind: Any) -> None:
    reference = np.array(ODD * 3).astype(kind)
    output = np.array([*ODD, *(1.005 * np.array(ODD)), *(1.05 * np.array(ODD) + 0.01)]).astype(kind)
    assert agree(output, reference)


def test_a_reference_of_more_precision() -> None:
    reference = np.array(ODD, np.float32)
    assert agree(reference.astype(np.float16), reference)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32])
def test_integers(kind: Any) -> None:
    reference = np.array([0, 1, 5, 100], kind)
    assert agree(np.array([0, 2, 5, 101], kind), reference)


def test_elements_beyond_the_first_round_of_the_threads() -> None:
    gpu = emulated_gpu()
    reference = np.zeros(3 * 1024 * 256 + 5, np.int8)
    check = check_of(reference, reference)
    right = gpu.upload(reference)
    assert check.passes(right)
    reference[-1] = 1
    wrong = gpu.upload(reference)
    assert not check.passes(wrong)
    assert check.passes(right), "an earlier verdict is forgotten"
