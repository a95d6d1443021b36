"""Saved kernels: the three files, loading them elsewhere, and files that are none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.kernels import (
    BIASED,
    DATA,
    SQUARE,
    WEIGHT,
    assert_right,
    foreign_processor,
    inputs_of,
    kernel_of,
)
from tunesmith.compiler.llvm import host_processor
from tunesmith.errors import MissingDependencyError, TunesmithError, UsageError
from tunesmith.kernel.kernel import Kernel
from tunesmith.operators import Operator, conv2d, matmul
from tunesmith.target import Target

PADDED = conv2d(ci=4, h=9, w=7, co=16, kernel=3, padding=1, bias=True, relu=True)


@pytest.fixture(autouse=True)
def _linker(c_compiler: str) -> None:
    """Saving links."""


@pytest.fixture(scope="module")
def saved(c_compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a kernel in it, ``square.so``. Copy what you break."""
    folder = tmp_path_factory.mktemp("saved")
    kernel_of(SQUARE).save(folder / "square.so")
    return folder


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    """The library of a kernel that may be broken."""
    return Path(shutil.copytree(saved, tmp_path / "copy")) / "square.so"


# -- what is written ------------------------------------------------------------------------------


def test_a_kernel_is_saved_as_a_library_a_header_and_a_description(tmp_path: Path) -> None:
    kernel = kernel_of(PADDED)
    folder = tmp_path / "new" / "folder"
    library, header, description = kernel.save(str(folder / "layer.best.so"))
    assert sorted(folder.iterdir()) == sorted([header, description, library])
    names = [path.name for path in (library, header, description)]
    assert names == ["layer.best.so", "layer.best.h", "layer.best.json"]
    assert library.read_bytes()[:4] == b"\x7fELF"
    assert "int layer_best(" in header.read_text()
    assert json.loads(description.read_text()) == json.loads(json.dumps(kernel.describe()))


def test_the_description_says_how_to_call_it_and_where_it_comes_from() -> None:
    kernel = kernel_of(BIASED, Target(cores=1))
    described = kernel.describe()
    assert described["operator"] == BIASED.to_json()
    assert described["target"] == {"kind": "cpu", "mcpu": None, "cores": 1, "arch": None}
    assert described["processor"] == host_processor()
    assert described["arch"] is None
    assert kernel.config is not None
    assert described["config"] == kernel.config.to_json()
    assert described["arguments"] == [
        {"name": "data", "shape": (6, 8), "dtype": "float32"},
        {"name": "weight", "shape": (8, 10), "dtype": "float32"},
        {"name": "bias", "shape": (10,), "dtype": "float32"},
    ]
    assert described["result"] == {"name": "output", "shape": (6, 10), "dtype": "float32"}
    assert described["alignment"] == 1
    assert described["flops"] == BIASED.flops


def test_a_kernel_is_saved_over_the_one_that_is_loaded(copy: Path) -> None:
    loaded = Kernel.load(copy)
    kernel_of(PADDED).save(copy)
    assert_right(SQUARE, loaded(DATA, WEIGHT), [DATA, WEIGHT])
    inputs = inputs_of(PADDED)
    assert_right(PADDED, Kernel.load(copy)(*inputs), inputs)


# -- what is read ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operator",
    [PADDED, matmul(m=5, n=12, k=9, dtype="bfloat16"), matmul(m=5, n=12, k=9, dtype="int8")],
    ids=lambda operator: operator.key,
)
def test_another_process_loads_it_and_gets_the_same(operator: Operator, tmp_path: Path) -> None:
    kernel, inputs = kernel_of(operator), inputs_of(operator, seed=3)
    kernel.save(tmp_path / "kernel.so")
    program = (
        "import sys; import numpy as np; from tunesmith.kernel.kernel import Kernel\n"
        "kernel = Kernel.load('kernel.so')\n"
        "result = kernel(*kernel.operator.make_inputs(seed=3))\n"
        "np.save('result.npy', result.view(np.uint8))\n"
        "print(kernel.operator.key, kernel.target.key, kernel.config.key, sep='\\n')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert kernel.config is not None
    assert result.stdout.splitlines() == [operator.key, "cpu", kernel.config.key]
    expected = kernel(*inputs)
    np.testing.assert_array_equal(np.load(tmp_path / "result.npy"), expected.view(np.uint8))


def test_a_kernel_without_a_config_is_saved_and_loaded_too(tmp_path: Path) -> None:
    kernel = kernel_of(SQUARE)
    plain = Kernel.build(SQUARE, kernel.target, kernel._program)
    plain.save(tmp_path / "kernel.so")
    assert Kernel.load(tmp_path / "kernel.so").config is None


def test_a_loaded_kernel_has_no_source_but_can_be_bound(saved: Path) -> None:
    kernel = Kernel.load(saved / "square.so")
    call = kernel.bind(DATA, WEIGHT)
    call()
    assert isinstance(call, partial)
    assert_right(SQUARE, call.args[-1].numpy(), [DATA, WEIGHT])
    with pytest.raises(UsageError, match=r"\Aa loaded kernel has no source: .+\Z"):
        kernel.source("ll")


def test_a_loaded_kernel_cannot_be_saved_and_says_to_copy_its_files(saved: Path) -> None:
    kernel = Kernel.load(saved / "square.so")
    with pytest.raises(UsageError, match=r"\Aa loaded kernel is saved already: copy its files\Z"):
        kernel.save(saved / "again.so")


@pytest.mark.parametrize("gone", ["square.so", "square.json"])
def test_a_missing_file_is_an_error_in_one_line(copy: Path, gone: str) -> None:
    (copy.parent / gone).unlink()
    with pytest.raises(
        TunesmithError, match=rf"\Ano file .+{gone}: a kernel is a library and .+\Z"
    ):
        Kernel.load(copy)


def _changed(**changes: Any) -> Any:
    return lambda text: json.dumps({**json.loads(text), **changes})


def _without(name: str) -> Any:
    return lambda text: json.dumps({k: v for k, v in json.loads(text).items() if k != name})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: "", "does not describe a kernel: "),
        (lambda text: text[:40], "does not describe a kernel: "),
        (lambda text: "[1, 2]", "does not describe a kernel: "),
        (lambda text: "null", "does not describe a kernel: "),
        (_without("format"), "does not describe a kernel: it lacks 'format'"),
        (_without("processor"), "does not describe a kernel: it lacks 'processor'"),
        (_changed(format=0), "has format 0, this version reads 1 to 3: save the kernel again"),
        (_changed(operator={"operator": "matmull", "options": {}}), ".+ did you mean matmul"),
        (_changed(operator=3), "does not describe a kernel: "),
        (_changed(config=3), "does not describe a kernel: "),
        (_changed(target={"kind": "cpu", "color": "red"}), "does not describe a kernel: .*color"),
        (_changed(target={"kind": "gpu"}), "does not describe a kernel: unknown target 'gpu'"),
    ],
)
def test_a_damaged_description_is_an_error_in_one_line(
    copy: Path, change: Any, reason: str
) -> None:
    description = copy.with_suffix(".json")
    description.write_text(change(description.read_text()))
    with pytest.raises(TunesmithError, match=rf"\A\S+square\.json {reason}.*\Z"):
        Kernel.load(copy)


def test_a_description_that_is_no_text_is_an_error_in_one_line(copy: Path) -> None:
    copy.with_suffix(".json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TunesmithError, match=r"\A\S+square\.json does not describe a kernel: .+\Z"):
        Kernel.load(copy)


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x7fELF" + bytes(100)], ids=repr)
def test_a_damaged_library_is_an_error_in_one_line(copy: Path, content: bytes) -> None:
    copy.unlink()
    copy.write_bytes(content)
    with pytest.raises(TunesmithError, match=r"\A\S+square\.so is not a kernel's library: .+\Z"):
        Kernel.load(copy)


def test_a_library_of_something_else_is_an_error_in_one_line(copy: Path, c_compiler: str) -> None:
    source = copy.with_suffix(".c")
    source.write_text("int answer(void) { return 42; }\n")
    copy.unlink()
    subprocess.run([c_compiler, "-shared", "-fPIC", "-o", copy, source], check=True)
    with pytest.raises(TunesmithError, match=r"\A\S+square\.so is not a kernel's library: .+\Z"):
        Kernel.load(copy)


def test_a_kernel_for_another_processor_is_saved_and_not_loaded_here(tmp_path: Path) -> None:
    name = foreign_processor()
    kernel_of(SQUARE, Target(mcpu=name)).save(tmp_path / "kernel.so")
    with pytest.raises(TunesmithError, match=rf"\Athe kernel was compiled for {name} and needs "):
        Kernel.load(tmp_path / "kernel.so")


# -- what cannot be written -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["kernel", "kernel.h", "kernel.json"])
def test_a_name_that_is_no_librarys_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"\Aa kernel is saved as a shared library: .+kernel\.so"):
        kernel_of(SQUARE).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("file/kernel.so", r"\S+/file is not a folder"),
        ("folder.so", "is a directory"),
        (f"{'a' * 300}.so", "file name too long"),
    ],
)
def test_a_place_that_cannot_be_written_is_an_error_in_one_line(
    tmp_path: Path, place: str, reason: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.so").mkdir()
    with pytest.raises(
        TunesmithError, match=rf"\Acannot write \S+\.so: {reason}: name a file in a folder .+\Z"
    ):
        kernel_of(SQUARE).save(tmp_path / place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.so"]


def test_without_a_compiler_saving_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CC", "CXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependencyError, match=r"\Asaving a kernel needs .+ gcc or clang\Z"):
        kernel_of(SQUARE).save(tmp_path / "kernel.so")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 1", "the linker gives no reason"),
        ("echo ld: no space; echo ld failed; exit 1", "ld: no space"),
        (None, ".+compiler: no such file or directory"),
    ],
)
def test_a_compiler_that_fails_is_an_error_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, reason: str
) -> None:
    compiler = tmp_path / "compiler"
    if script is not None:
        compiler.write_text(f"#!/bin/sh\n{script}\n")
        compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    folder = tmp_path / "new"
    with pytest.raises(TunesmithError, match=rf"\Acannot link \S+kernel\.so: {reason}\Z"):
        kernel_of(SQUARE).save(folder / "kernel.so")
    assert not list(folder.iterdir())
