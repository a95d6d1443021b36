"""Kernels for GPUs: on emulated ones, and on machines that have none or lack something."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.emulated import needs_compiler
from tunesmith.cuda import runtime
from tunesmith.cuda.executable import with_machine_code
from tunesmith.errors import MissingDependencyError, TunesmithError, UsageError
from tunesmith.testing.emulated_gpu import environment

_TESTS = Path(__file__).parents[1] / "on_gpus"


@needs_compiler
@pytest.mark.slow
def test_they_are_called_saved_and_loaded_on_two_gpus() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    names = ("kernel_calls.py", "torch_calls.py", "program_calls.py", "saved_kernels.py")
    files = [str(_TESTS / name) for name in names]
    path = os.pathsep.join(entry for entry in sys.path if entry)
    ran = subprocess.run(
        [*command, *files],
        env={**environment(gpus=2), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    last = ran.stdout.strip().splitlines()[-1]
    assert re.fullmatch(r"\d+ passed(, \d+ warnings?)? in .*", last), ran.stdout


# -- the runtime ----------------------------------------------------------------------------------


@pytest.fixture
def not_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """As if TVM came without its runtime for GPUs. The libraries that are loaded instead."""
    loaded: list[str] = []
    monkeypatch.setattr(runtime, "has_runtime", lambda: False)
    monkeypatch.setattr(runtime, "driver", lambda: None)
    monkeypatch.setattr(runtime, "CDLL", lambda name, **_: loaded.append(Path(name).name))
    monkeypatch.syspath_prepend(tmp_path)
    return loaded


def _fail(words: str) -> Any:
    def load(*_: Any, **__: Any) -> None:
        raise OSError(words)

    return load


def test_the_runtime_is_loaded_late_with_what_pythons_packages_have(
    not_loaded: list[str], tmp_path: Path
) -> None:
    package = tmp_path / "nvidia" / "cu13" / "lib"
    package.mkdir(parents=True)
    (package / runtime.CUDA_LIBRARY).touch()
    runtime.load_runtime()
    assert not_loaded[-2:] == [runtime.CUDA_LIBRARY, runtime.LIBRARY]


LATE = """
import ctypes
import tvm
from tunesmith.cuda.runtime import has_runtime, load_runtime
from tunesmith.testing.emulated_gpu import libraries
for name in ("libcuda.so.1", "libcudart.so.13"):
    ctypes.CDLL(str(libraries() / name), mode=ctypes.RTLD_GLOBAL)
load_runtime()
print(has_runtime(), tvm.runtime.tensor([1.0, 2.0], tvm.cuda(0)).numpy().sum())
"""


@needs_compiler
def test_a_runtime_that_is_loaded_late_works() -> None:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    ran = subprocess.run(
        [sys.executable, "-c", LATE],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.split() == ["True", "3.0"], ran.stderr


@pytest.mark.usefixtures("not_loaded")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "libcudart.so.13: cannot open shared object file: No such file or directory",
            r"kernels for GPUs need CUDA's runtime 13 \(libcudart.so.13\): pip install .+",
        ),
        ("something\nelse", "TVM's runtime for GPUs does not load: something else"),
    ],
)
def test_a_runtime_that_does_not_load_is_said_in_one_line(
    words: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "_packaged", lambda: iter(()))
    monkeypatch.setattr(runtime, "CDLL", _fail(words))
    with pytest.raises(MissingDependencyError, match=rf"\A{message}\Z"):
        runtime.load_runtime()


def test_without_a_driver_that_is_what_is_missing(
    not_loaded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def driver() -> None:
        raise UsageError("no NVIDIA GPU can be used: no driver is installed on this machine")

    monkeypatch.setattr(runtime, "driver", driver)
    with pytest.raises(UsageError, match="no driver is installed"):
        runtime.load_runtime()
    assert not_loaded == []


# -- libraries made without it --------------------------------------------------------------------


def _sized(text: bytes) -> bytes:
    return len(text).to_bytes(8, "little") + text


def _module(form: bytes, code: bytes) -> bytes:
    return _sized(b"cuda") + _sized(_sized(form) + b"functions" + _sized(code))


def _blob(form: bytes, code: bytes, before: bytes = _sized(b"_lib")) -> bytes:
    return _sized(before + _module(form, code))


@pytest.mark.parametrize(("form", "held"), [(b"cuda", b"the source"), (b"cubin", b"the digest")])
def test_machine_code_takes_the_place_of_the_source(form: bytes, held: bytes) -> None:
    made = with_machine_code(_blob(form, held), [b"the source", b"the digest"], b"\0code\0")
    assert made == _blob(b"cubin", b"\0code\0")


def test_of_several_modules_the_one_with_the_source_is_replaced() -> None:
    """Also where another one's code looks like the beginning of a module."""
    modules = [_module(b"cuda", each) for each in (b"first", _sized(b"cuda"), b"last")]
    for place in range(3):
        replaced = [*modules]
        replaced[place] = _module(b"cubin", b"code")
        held = (b"first", _sized(b"cuda"), b"last")[place]
        made = with_machine_code(_sized(b"".join(modules)), [held], b"code")
        assert made == _sized(b"".join(replaced))


@pytest.mark.parametrize(
    "blob",
    [
        _blob(b"cuda", b"another source"),
        _blob(b"ptx", b"the source"),
        _blob(b"cuda", b"the source and more"),
        _sized(b"_lib"),
        b"",
    ],
)
def test_a_blob_of_another_kind_is_refused(blob: bytes) -> None:
    with pytest.raises(TunesmithError, match="this version of TVM packs libraries in a way"):
        with_machine_code(blob, [b"the source"], b"code")
