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

SAYS = "import sys, other; print(sys.argv[1:], other.SIZE)"
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
        "tvm/__init__.py": "",
        "other/__init__.py": "SIZE = 3",
        "other-1.0.dist-info/RECORD": "other/__init__.py,,\nother-1.0.dist-info/RECORD,,\n",
    }
    write_files(folder, files)
    (folder / "tvm" / "large.bin").write_bytes(os.urandom(5000))
    return folder


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Tunesmith, which says what it is called with."""
    names = ("tunesmith/__init__.py", "tunesmith/cli/__init__.py")
    return write_files(
        tmp_path / "own", {**dict.fromkeys(names, ""), "tunesmith/cli/main.py": SAYS}
    )


def write_files(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def carried(carry: Any, site: Path, own: Path, tmp_path: Path) -> Path:
    """All of it packed, in small pieces."""
    folder = tmp_path / "carried"
    carry.write(site, folder, carry.PACKAGES, 0.001, 0)
    carry.write(own, folder, carry.OWN, None, 0)
    carry.finish(folder, HERE)
    return folder


def set_up(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run the script that it wrote."""
    return subprocess.run(
        ["sh", str(folder / "set-up"), *map(str, words)],
        capture_output=True, text=True, check=False, cwd=folder.parent,
    )  # fmt: skip


def test_what_is_packed_is_there_after_unpacking(
    carried: Path, site: Path, own: Path, tmp_path: Path
) -> None:
    place = tmp_path / "a place"
    pieces = sorted(carried.glob("packages.tar.xz.*"))
    assert len(pieces) > 2
    assert max(piece.stat().st_size for piece in pieces) <= 1049
    ran = set_up(carried, place, sys.executable)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == f"Ready: {place / 'tunesmith'}\n"
    assert contents(place / "site") == contents(site) | contents(own)
    words = ["bench", "two words"]
    ran = subprocess.run([place / "tunesmith", *words], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{words} 3\n"


def test_tunesmith_is_packed_anew_beside_its_packages(
    carry: Any, carried: Path, own: Path, tmp_path: Path
) -> None:
    before = {piece.name: piece.read_bytes() for piece in carried.glob("packages*")}
    (own / "tunesmith" / "cli" / "main.py").write_text("print('newer')", encoding="utf-8")
    carry.write(own, carried, carry.OWN, None, 0)
    carry.finish(carried, HERE)
    assert {piece.name: piece.read_bytes() for piece in carried.glob("packages*")} == before
    place = tmp_path / "place"
    assert set_up(carried, place, sys.executable).returncode == 0
    ran = subprocess.run([place / "tunesmith"], capture_output=True, text=True, check=True)
    assert ran.stdout == "newer\n"


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder, but for what Python adds to it."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_a_piece_that_is_missing_or_damaged_is_said(carried: Path, tmp_path: Path) -> None:
    (carried / "packages.tar.xz.001").write_bytes(b"x")
    ran = set_up(carried, tmp_path / "place", sys.executable)
    assert ran.returncode == 1
    assert "set-up: pieces are missing or damaged" in ran.stderr
    assert not (tmp_path / "place").exists()


def test_another_python_is_refused(carry: Any, carried: Path, tmp_path: Path) -> None:
    carry.finish(carried, "3.99")
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
