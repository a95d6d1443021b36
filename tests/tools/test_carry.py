"""``tools/carry``: what it packs is unpacked as it was, and what is amiss is said."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture(scope="module")
def carry() -> Any:
    """The script as a module."""
    loader = SourceFileLoader("carry", str(Path(__file__).parents[2] / "tools" / "carry"))
    spec = spec_from_loader("carry", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Packages of the names that the real ones have, which say what they are called with."""
    folder = tmp_path / "site"
    files = {
        "tunesmith/__init__.py": "",
        "tunesmith/cli/__init__.py": "",
        "tunesmith/cli/main.py": "import sys, other; print(sys.argv[1:], other.SIZE)",
        "tvm/__init__.py": "",
        "other/__init__.py": "SIZE = 3",
        "other-1.0.dist-info/RECORD": "other/__init__.py,,\nother-1.0.dist-info/RECORD,,\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "tvm" / "large.bin").write_bytes(os.urandom(5000))
    return folder


def set_up(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run the script that it wrote."""
    return subprocess.run(
        ["sh", str(folder / "set-up"), *map(str, words)],
        capture_output=True, text=True, check=False, cwd=folder.parent,
    )  # fmt: skip


def test_what_is_packed_is_there_after_unpacking(carry: Any, site: Path, tmp_path: Path) -> None:
    carried, place = tmp_path / "carried", tmp_path / "a place"
    carry.write(site, carried, HERE, 0.001, 0)
    pieces = sorted(carried.glob("site.tar.xz.*"))
    assert len(pieces) > 2
    assert max(piece.stat().st_size for piece in pieces) <= 1049
    ran = set_up(carried, place, sys.executable)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == f"Ready: {place / 'tunesmith'}\n"
    unpacked = {str(path.relative_to(site)): path.read_bytes() for path in files_of(site)}
    assert unpacked == {
        str(path.relative_to(place / "site")): path.read_bytes()
        for path in files_of(place / "site")
    }
    words = ["bench", "two words"]
    ran = subprocess.run([place / "tunesmith", *words], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{words} 3\n"


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]


def test_a_piece_that_is_missing_or_damaged_is_said(carry: Any, site: Path, tmp_path: Path) -> None:
    carried = tmp_path / "carried"
    carry.write(site, carried, HERE, 0.001, 0)
    (carried / "site.tar.xz.001").write_bytes(b"x")
    ran = set_up(carried, tmp_path / "place", sys.executable)
    assert ran.returncode == 1
    assert "set-up: pieces are missing or damaged" in ran.stderr
    assert not (tmp_path / "place").exists()


def test_another_python_is_refused(carry: Any, site: Path, tmp_path: Path) -> None:
    carried = tmp_path / "carried"
    carry.write(site, carried, "3.99", None, 0)
    ran = set_up(carried, tmp_path / "place", sys.executable)
    assert ran.returncode == 1
    assert "set-up: this is for Python 3.99, but" in ran.stderr


def test_packages_can_be_left_out(carry: Any, site: Path) -> None:
    carry._remove(site, "Other")
    assert not list(site.glob("other*/*"))
    with pytest.raises(SystemExit, match="there is no numpy to leave out"):
        carry._remove(site, "numpy")


def test_the_version_names_the_commit(carry: Any, tmp_path: Path) -> None:
    text = (carry._source(tmp_path) / "pyproject.toml").read_text(encoding="utf-8")
    (version,) = (line for line in text.splitlines() if line.startswith("version = "))
    commit = carry._git("rev-parse", "--short=8", "HEAD")
    assert f"+{commit}" in version if commit else "+" not in version
    assert (tmp_path / "src" / "tunesmith" / "__init__.py").is_file()
