"""Linkers for other architectures: which is taken, and what is said if there is none."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

import pytest

from tunesmith.compiler.cross_linker import CrossLinker, linker_for
from tunesmith.errors import MissingDependencyError

HERE = platform.machine()


def only(monkeypatch: pytest.MonkeyPatch, *installed: str) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: name if name in installed else None)


@pytest.mark.parametrize(
    ("architecture", "installed", "command"),
    [
        ("aarch64", ("aarch64-linux-gnu-ld", "ld.lld"), ("aarch64-linux-gnu-ld",)),
        ("aarch64", ("ld.lld",), ("ld.lld", "-m", "aarch64linux")),
        ("x86_64", ("ld.lld", "x86_64-linux-gnu-ld"), ("x86_64-linux-gnu-ld",)),
        (HERE, ("ld", "ld.lld"), ("ld",)),
    ],
)
def test_gnus_linker_comes_before_lld(
    monkeypatch: pytest.MonkeyPatch,
    architecture: str,
    installed: tuple[str, ...],
    command: tuple[str, ...],
) -> None:
    only(monkeypatch, *installed)
    assert linker_for(architecture) == command


def test_this_machines_linker_is_not_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "ld")
    reason = r"^building for riscv64 needs a linker: install lld, or GNU binutils for it "
    with pytest.raises(MissingDependencyError, match=reason):
        linker_for("riscv64")


def test_a_linker_that_fails_gives_its_reason(tmp_path: Path) -> None:
    (tmp_path / "broken.o").write_text("no object file")
    with pytest.raises(RuntimeError, match=r"broken\.o"):
        CrossLinker(linker_for(HERE))(str(tmp_path / "out.so"), [str(tmp_path / "broken.o")])
