"""The emulated GPU for tests that measure: in this process, and in all that it starts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tunesmith.cuda import devices
from tunesmith.cuda.driver import Driver
from tunesmith.testing import emulated_gpu

needs_compiler = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("c++")),
    reason="no C++ compiler on this machine to emulate a GPU with",
)

Gpus = Callable[..., None]
"""Makes this machine have so many emulated GPUs: see ``emulated_gpu.environment``."""


@pytest.fixture
def have_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Gpus]:
    """Lets this machine have emulated GPUs, and a folder of its own for what is compiled."""

    def have(gpus: int = 1, **settings: object) -> None:
        environment = emulated_gpu.environment(gpus=gpus, **settings)  # type: ignore[arg-type]
        for name in environment:
            monkeypatch.setenv(name, environment[name])
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.setattr(devices, "driver", lambda: Driver(str(library)))
        devices.gpus.cache_clear()

    library = emulated_gpu.libraries() / "libcuda.so.1"
    devices.gpus.cache_clear()
    yield have
    devices.gpus.cache_clear()
