"""Machine code that is compiled once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tunesmith.cuda.cache import ProgramCache
from tunesmith.cuda.compiler import Cubin, Resources

SOURCE = "void main_kernel() {}"


class Compiler:
    """Counts how often it is called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Cubin:
        self.calls += 1
        return Cubin(b"code %d" % self.calls, SOURCE, {"main_kernel": Resources(16, 0, 0, 64)})


def test_a_program_is_compiled_once(tmp_path: Path) -> None:
    compiler = Compiler()
    for _ in range(2):
        cache = ProgramCache(tmp_path / "cuda", "nvcc 13")
        cubin, path = cache.compiled("0123", "sm_90", SOURCE, compiler)
        assert cubin == Cubin(b"code 1", SOURCE, {"main_kernel": Resources(16, 0, 0, 64)})
        assert path.read_bytes() == b"code 1"
    assert compiler.calls == 1
    assert path.with_suffix(".cu").read_text().endswith(SOURCE)


@pytest.mark.parametrize(
    ("name", "arch", "source", "version"),
    [
        ("4567", "sm_90", SOURCE, "nvcc 13"),
        ("0123", "sm_80", SOURCE, "nvcc 13"),
        ("0123", "sm_90", SOURCE + "\n", "nvcc 13"),
        ("0123", "sm_90", SOURCE, "nvcc 14"),
    ],
)
def test_another_program_is_compiled(
    tmp_path: Path, name: str, arch: str, source: str, version: str
) -> None:
    compiler = Compiler()
    ProgramCache(tmp_path, "nvcc 13").compiled("0123", "sm_90", SOURCE, compiler)
    cubin, _ = ProgramCache(tmp_path, version).compiled(name, arch, source, compiler)
    assert cubin.code == b"code 2"


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".cubin", None),
        *((suffix, content) for suffix in (".cu", ".json") for content in (None, b"", b"\xff{")),
    ],
)
def test_what_is_broken_is_compiled_again(
    tmp_path: Path, suffix: str, content: bytes | None
) -> None:
    compiler = Compiler()
    cache = ProgramCache(tmp_path, "nvcc 13")
    cache.compiled("0123", "sm_90", SOURCE, compiler)
    (file,) = tmp_path.glob(f"0123-sm_90-*{suffix}")
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    cubin, _ = cache.compiled("0123", "sm_90", SOURCE, compiler)
    assert cubin.code == b"code 2"


def test_a_folder_that_cannot_be_made_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = ProgramCache(tmp_path / "file" / "cuda", "nvcc 13")
    cubin, path = cache.compiled("0123", "sm_90", SOURCE, Compiler())
    assert path.read_bytes() == cubin.code
    cache.shrink()


def test_what_was_used_longest_ago_goes_first_and_whole(tmp_path: Path) -> None:
    cache = ProgramCache(tmp_path, "nvcc 13")
    for name in ("used", "unused"):
        cache.compiled(name, "sm_90", SOURCE, Compiler())
    for file in tmp_path.iterdir():
        os.utime(file, (1000, 1000))
    cache.compiled("used", "sm_90", SOURCE, Compiler())
    (tmp_path / "a stranger's file").write_bytes(b"x" * 100)
    (tmp_path / "unused-sm_90-0123.cubinx8y2").write_bytes(b"a draft")
    os.utime(tmp_path / "unused-sm_90-0123.cubinx8y2", (1000, 1000))
    whole = sum(file.stat().st_size for file in tmp_path.glob("*-sm_90*"))
    cache.shrink(most=whole // 2)
    assert {file.name.partition("-")[0] for file in tmp_path.glob("*-sm_90*")} == {"used"}
    assert len(list(tmp_path.iterdir())) == 4
    cache.shrink(most=0)
    assert len(list(tmp_path.iterdir())) == 4, "what was used just now stays"
    cache.shrink(most=0, spare=-1.0)
    assert len(list(tmp_path.iterdir())) == 1
