"""Kernels for GPUs: on emulated ones, and on machines that have none or lack something."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.command import tunesmith
from tests.emulated_gpus import emulated, run_emulated
from tunesmith.cuda import runtime
from tunesmith.cuda.executable import with_machine_code
from tunesmith.errors import MissingDependencyError, TunesmithError, UsageError


def test_they_run_on_two_gpus_and_are_saved_and_loaded() -> None:
    run_emulated("kernel_calls.py", "saved_kernels.py", gpus=2)
