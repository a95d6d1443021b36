"""An AArch64 device: its server run by qemu's emulator, in a system of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.measure.remote.devices import Started, started
from tunesmith.compiler.cross_linker import linker_for
from tunesmith.errors import MissingDependencyError
from tunesmith.target import Target

AARCH64 = Target("cpu", cores=2, triple="aarch64-linux-gnu")
_CHECKOUT = Path(__file__).parents[3]
_SYSTEM = Path(os.environ.get("TUNESMITH_AARCH64", _CHECKOUT / "build" / "aarch64"))
_EMULATOR = "qemu-aarch64-static"


def _missing() -> str | None:
    try:
        linker_for(AARCH64.architecture)
    except MissingDependencyError as error:
        return str(error)
    return None


def missing_of_device() -> str | None:
    """What this machine lacks to run what is built for AArch64."""
    if shutil.which(_EMULATOR) is None:
        return f"an AArch64 device needs {_EMULATOR}"
    parts = _SYSTEM / "root" / "usr" / "bin" / "python3", _SYSTEM / "site" / "tvm"
    if not all(part.exists() for part in parts):
        return "an AArch64 device needs a system: tools/aarch64-root makes one"
    return _missing()


needs_linker = pytest.mark.skipif(_missing() is not None, reason=str(_missing()))
"""For tests that build for AArch64."""

needs_aarch64 = pytest.mark.skipif(missing_of_device() is not None, reason=str(missing_of_device()))
"""For tests that run what is built for AArch64."""


def aarch64_python() -> tuple[tuple[str, ...], dict[str, str]]:
    """The command and the environment of Python there."""
    root = _SYSTEM / "root"
    environment = {
        "PYTHONPATH": f"{_CHECKOUT / 'src'}:{_SYSTEM / 'site'}",
        "PYTHONHOME": str(root / "usr"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "QEMU_LD_PREFIX": str(root),
    }
    return (_EMULATOR, str(root / "usr" / "bin" / "python3")), environment


@contextlib.contextmanager
def aarch64_device(tracker: Started, key: str) -> Iterator[Started]:
    """A device of a tracker, which is emulated. What it measures is no time of any machine."""
    python, environment = aarch64_python()
    with started(
        *("device", "--tracker", tracker.address, "--key", key, "--host", "127.0.0.1"),
        command=(*python, "-m", "tunesmith.cli.main"),
        env=environment,
    ) as it:
        yield it
