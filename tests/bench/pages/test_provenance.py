"""Where rows come from: the version of a checkout, and what rows share."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bench.operators.rows import ORIGIN
from tests.git import plain_git
from tunesmith.bench.pages import provenance
from tunesmith.bench.pages.provenance import is_origin, origin_now, own_version, span
from tunesmith.store import library_versions


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package's folder that git knows nothing of."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.setattr(provenance, "_PACKAGE", folder)
    own_version.cache_clear()
    yield folder
    own_version.cache_clear()


def git(folder: Path, *words: str) -> str:
    ran = subprocess.run(
        [*plain_git(), *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return ran.stdout.strip()


def test_a_checkout_has_its_commit(package: Path) -> None:
    git(package.parent, "init", "-q")
    git(package.parent, "add", "package")
    git(package.parent, "commit", "-q", "-m", "one")
    commit = git(package, "rev-parse", "--short=8", "HEAD")
    (package.parent / "page.md").touch()  # beside the package: it does not change it
    version = library_versions()["tunesmith"]
    assert own_version() == f"{version}+{commit}"
    own_version.cache_clear()
    (package / "__init__.py").write_text("pass")
    assert own_version() == f"{version}+{commit}.changed"


def test_the_commit_of_a_project_that_only_holds_the_package_says_nothing(package: Path) -> None:
    git(package.parent, "init", "-q")
    assert own_version() == library_versions()["tunesmith"]


def test_without_git(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(package))
    assert own_version() == library_versions()["tunesmith"]


def test_what_is_an_origin() -> None:
    assert is_origin(origin_now({"numpy": "1"}, {"pairs": 3}))
    assert is_origin(ORIGIN)
    assert is_origin(None), "of an older version"
    for other in ({}, 3, {**ORIGIN, "machine": {}}, {**ORIGIN, "versions": []}):
        assert not is_origin(other)


@pytest.mark.parametrize(
    ("values", "said"), [([25.0], "25"), ([25, 9, 25], "9 to 25"), (["b", "a"], "a to b")]
)
def test_what_differs_is_told_by_its_ends(values: list[Any], said: str) -> None:
    assert span(values) == said
