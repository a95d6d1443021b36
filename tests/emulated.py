"""The emulated GPU for tests that measure: in this process, and in all that it starts."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tunesmith.cuda import devices
from tunesmith.cuda.driver import Driver
from tunesmith.errors import UsageError
from tunesmith.testing import emulated_gpu

needs_compiler = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("c++")),
    reason="no C++ compiler on this machine to emulate a GPU with",
)

NO_GPU = "no NVIDIA GPU can be used: no driver is installed on this machine"

Gpus = Callable[..., None]
"""Makes this machine have so many emulated GPUs: see ``emulated_gpu.environment``."""


@pytest.fixture
def have_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Gpus]:
    """Lets this machine have emulated GPUs, and a folder of its own for what is compiled."""

    def have(gpus: int = 1, **settings: Any) -> None:
        set_up(monkeypatch, tmp_path / "cache", gpus=gpus, **settings)

    yield have
    devices.gpus.cache_clear()


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a machine without a GPU.

    This machine may have one. And where a test before this one loaded the emulated driver, this
    process finds it again by its name.
    """

    def driver() -> None:
        raise UsageError(NO_GPU)

    monkeypatch.setattr(devices, "driver", driver)
    devices.gpus.cache_clear()
    yield
    devices.gpus.cache_clear()


@contextlib.contextmanager
def one_gpu(cache: Path) -> Iterator[None]:
    """The same with one GPU, for fixtures of more than one test."""
    with pytest.MonkeyPatch.context() as patch:
        set_up(patch, cache, gpus=1)
        yield
    devices.gpus.cache_clear()


def set_up(patch: pytest.MonkeyPatch, cache: Path, **settings: Any) -> None:
    """Let this process and its children see these GPUs."""
    for name, value in emulated_gpu.environment(**settings).items():
        patch.setenv(name, value)
    patch.setenv("XDG_CACHE_HOME", str(cache))
    library = emulated_gpu.libraries() / "libcuda.so.1"
    patch.setattr(devices, "driver", lambda: Driver(str(library)))
    devices.gpus.cache_clear()
