"""The wheel and the source distribution: whole, and at work where nothing else of ours is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.git import plain_git
from tests.patience import PATIENCE

PACKAGE = ROOT / "src" / "tunesmith"
# What a package holds beside modules: templates, styles, data, sources in C.
DATA = {path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}


def run(*words: str | Path, folder: Path) -> str:
    """What a command prints; it must succeed. It sees nothing of this checkout."""
    hidden = {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME"}
    ran = subprocess.run(
        [str(word) for word in words],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name not in hidden},
        timeout=PATIENCE,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.slow
def test_a_wheel_installs_and_works(tmp_path: Path) -> None:
    pytest.importorskip("build", reason="packages are made by build")
    source = tmp_path / "source"
    # Other tests may be writing files of compiled modules there.
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "LICENSE", "Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, source / name)
    made = tmp_path / "dist"
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", made, source, folder=tmp_path)
    (wheel,) = made.glob("*.whl")
    (archive,) = made.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as opened:
        inside = {name for name in opened.namelist() if name.startswith("tunesmith/")}
    expected = {path.relative_to(PACKAGE.parent).as_posix() for path in DATA}
    assert inside == expected, "nothing is missing, and nothing else is in it"
    with tarfile.open(archive) as opened_archive:
        names = {name.partition("/")[2] for name in opened_archive.getnames()}
    assert {f"src/{name}" for name in expected} <= names
    assert {"README.md", "LICENSE", "pyproject.toml"} <= names

    place = tmp_path / "environment"
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    site = next((place / "lib").glob("python*/site-packages"))
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(site)
    # The packages that it needs are those of this environment, which come after its own.
    (site / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    where = run(python, "-c", "import tunesmith; print(tunesmith.__file__)", folder=tmp_path)
    assert where.strip() == str(site / "tunesmith" / "__init__.py")
    main = "import sys; from tunesmith.cli.main import main; sys.exit(main())"
    words = ["tune", "matmul", "--m", "16", "--n", "16", "--k", "16", "--trials", "3"]
    tuned = run(python, "-c", main, *words, "--store", "a.db", "--json", folder=tmp_path)
    assert json.loads(tuned)["trials"] == 3
    run(
        python,
        "-c",
        main,
        "report",
        *words[1:8],
        "--store",
        "a.db",
        "-o",
        "r.html",
        folder=tmp_path,
    )
    assert "plotly" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_the_version_is_that_of_a_tag(tmp_path: Path) -> None:
    pytest.importorskip("setuptools_scm", reason="versions are counted by setuptools-scm")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)

    def git(*words: str) -> None:
        run(*plain_git(), *words, folder=tmp_path)

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    git("tag", "v3.2.1")

    def version() -> str:
        return run(sys.executable, "-m", "setuptools_scm", folder=tmp_path).strip()

    assert version() == "3.2.1"
    git("commit", "--quiet", "--allow-empty", "-m", "second")
    assert version() == "3.2.2.dev1"
