"""Stores that are there but of no use: one line and exit code 1, since the words were right."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.cli.command import write_spec
from tests.cli.conftest import Command
from tunesmith import store as stores
from tunesmith.store import open_store

MATMUL = "matmul --m 32 --n 32 --k 32"


@pytest.fixture
def broken_stores(tmp_path: Path) -> dict[str, tuple[Path, str]]:
    """Files that are no usable stores, and a part of what is said of each."""
    folder = tmp_path / "folder.db"
    folder.mkdir()
    text = tmp_path / "text.db"
    text.write_text("not a database, but longer than the header of one " * 10)
    other, newer, damaged = (tmp_path / f"{name}.db" for name in ("other", "newer", "damaged"))
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    for path in (newer, damaged):
        open_store(path).close()
    with closing(sqlite3.connect(newer)) as connection, connection:
        connection.execute("UPDATE tunesmith_schema SET version_num = '9999'")
    with damaged.open("r+b") as file:
        file.seek(200)
        file.write(b"\xff" * (damaged.stat().st_size - 200))
    return {
        "folder": (folder, "is a folder"),
        "text": (text, "is not a Tunesmith store"),
        "other": (other, "it holds other tables"),
        "newer": (newer, "upgrade Tunesmith"),
        "damaged": (damaged, "damaged"),
    }


@pytest.mark.parametrize("kind", ["folder", "text", "other", "newer", "damaged"])
def test_a_store_that_cannot_be_used(
    kind: str, broken_stores: dict[str, tuple[Path, str]], command: Command, tmp_path: Path
) -> None:
    path, answer = broken_stores[kind]
    content = None if path.is_dir() else path.read_bytes()
    spec = write_spec(tmp_path)
    for words in (("history",), ("best", *MATMUL.split()), ("tune-command", spec)):
        ran = command(*words, "--store", path)
        assert answer in ran.complaint
        assert str(path) in ran.complaint
        assert ran.code == 1
    assert content is None or path.read_bytes() == content


def test_a_store_whose_name_is_too_long(command: Command) -> None:
    ran = command("history", "--store", "x" * 300)
    assert ran.complaint.endswith("file name too long: choose another place")
    assert ran.code == 1


def test_a_file_that_may_not_be_looked_at(command: Command) -> None:
    ran = command("network", "run", "x" * 300 + ".so")
    assert ran.complaint.endswith("file name too long: name another place")
    assert ran.code == 1


def test_a_store_that_may_only_be_read(command: Command, tmp_path: Path, store: Path) -> None:
    open_store(store).close()
    location = f"sqlite:///file:{store}?mode=ro&uri=true"
    ran = command("tune-command", write_spec(tmp_path), "--store", location)
    assert "is read-only" in ran.complaint
    assert ran.code == 1
    assert command("history", "--store", location).code == 0


@pytest.fixture
def locked(store: Path) -> Iterator[Path]:
    """A store that somebody else is writing, and does not end writing."""
    open_store(store).close()
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield store


def test_a_store_that_is_locked(
    command: Command, tmp_path: Path, locked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "open_store", partial(open_store, patience=0.1))
    ran = command("tune-command", write_spec(tmp_path), "--store", locked)
    assert "is locked by another process" in ran.complaint
    assert ran.code == 1
    assert command("history", "--store", locked).code == 0, "readers need not wait"


def test_rescued_records_that_are_none(command: Command, tmp_path: Path, store: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text("notes\n")
    ran = command("import", file, "--store", store)
    assert "line 1 of" in ran.complaint
    assert ran.code == 1
    assert command("import", tmp_path / "none.jsonl", "--store", store).code == 1
