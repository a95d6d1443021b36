"""Kernels for GPUs, on GPUs that are emulated and where there are none."""

from __future__ import annotations

import pytest

from tests.emulated_gpus import run_emulated


@pytest.mark.slow
def test_calls_on_two_gpus() -> None:
    run_emulated("kernel_calls.py", gpus=2)
