"""Whatever is wrong with a SQLite store: one clear line, and nothing stored before is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from tunesmith.errors import StoreError
from tunesmith.store import open_store, rescue
from tunesmith.testing.store import begin, trial

_NOBODY = 65534


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A store with 500 trials in one session."""
    return _fill(tmp_path / "records.db")


def _fill(path: Path) -> Path:
    with open_store(path) as store:
        store.append(begin(store), [trial(number, 1.0 + number) for number in range(500)])
    return path


def _message(raised: pytest.ExceptionInfo[StoreError], path: Path) -> str:
    message = str(raised.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but longer than the header of one " * 10)
    before = path.read_bytes()
    with pytest.raises(StoreError) as raised:
        open_store(path)
    assert "is not a Tunesmith store, or is damaged" in _message(raised, path)
    assert path.read_bytes() == before


def test_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    before = path.read_bytes()
    with pytest.raises(StoreError) as raised:
        open_store(path)
    assert "is not a Tunesmith store, it holds other tables" in _message(raised, path)
    assert path.read_bytes() == before


def test_damaged_pages(filled: Path) -> None:
    size = filled.stat().st_size
    with filled.open("r+b") as file:
        file.seek(size // 4)
        file.write(b"\xff" * (size // 2))
    with pytest.raises(StoreError) as raised, open_store(filled) as store:
        list(store.records("matmul"))
    assert "is damaged" in _message(raised, filled)
    assert "sqlite3 OLD .recover | sqlite3 NEW" in str(raised.value)


def test_truncated_file(filled: Path) -> None:
    os.truncate(filled, filled.stat().st_size // 2)
    with pytest.raises(StoreError) as raised, open_store(filled) as store:
        store.append(begin(store), [trial(1, 1.0)])
    assert "is damaged" in _message(raised, filled)


def test_folder_in_place_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as raised:
        open_store(tmp_path)
    assert "is a folder: name a file in it" in _message(raised, tmp_path)


def test_file_in_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "records.db"
    with pytest.raises(StoreError) as raised:
        open_store(path)
    assert "cannot be made" in _message(raised, path)


def test_read_only_connection(filled: Path) -> None:
    with open_store(f"sqlite:///file:{filled}?mode=ro&uri=true") as store:
        assert store.count("matmul") == 500
        with pytest.raises(StoreError) as raised:
            begin(store)
    assert "is read-only" in _message(raised, filled)


def test_read_only_connection_to_nothing(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    with pytest.raises(StoreError) as raised:
        open_store(f"sqlite:///file:{path}?mode=ro&uri=true")
    assert "cannot be opened" in _message(raised, path)


@contextmanager
def _without_privileges() -> Iterator[None]:
    """Runs as nobody, if run as root, whom no permission stops."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that everybody can reach, unlike those of pytest."""
    folder = Path(tempfile.mkdtemp(prefix="tunesmith-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_read_only_file_and_folder(public_folder: Path) -> None:
    path = _fill(public_folder / "records.db")
    path.chmod(0o444)
    public_folder.chmod(0o555)
    with _without_privileges(), pytest.raises(StoreError) as raised, open_store(path) as store:
        begin(store)
    assert "is read-only" in _message(raised, path)
    public_folder.chmod(0o755)
    path.chmod(0o644)
    with open_store(path) as store:
        assert store.count("matmul") == 500


def test_read_only_folder_for_a_new_store(public_folder: Path) -> None:
    public_folder.chmod(0o555)
    path = public_folder / "records.db"
    with _without_privileges(), pytest.raises(StoreError) as raised:
        open_store(path)
    assert "is read-only" in _message(raised, path)
    deeper = public_folder / "deeper" / "records.db"
    with _without_privileges(), pytest.raises(StoreError) as raised:
        open_store(deeper)
    assert "cannot be made (Permission denied)" in _message(raised, deeper)


def test_file_that_may_not_be_read(public_folder: Path) -> None:
    path = _fill(public_folder / "records.db")
    public_folder.chmod(0o777)
    path.chmod(0o600)
    with _without_privileges():
        if os.access(path, os.R_OK, effective_ids=True):
            pytest.skip("whoever runs the tests owns the file and may read it")
        with pytest.raises(StoreError) as raised:
            open_store(path)
    assert "cannot be opened" in _message(raised, path)


def test_newer_schema(filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as connection, connection:
        connection.execute("UPDATE tunesmith_schema SET version_num = '9999'")
    with pytest.raises(StoreError) as raised:
        open_store(filled)
    message = _message(raised, filled)
    assert "newer schema (9999)" in message
    assert "upgrade Tunesmith" in message


def test_full_database_file(tmp_path: Path) -> None:
    """SQLite's own limit on a file gives the same error as a full disk, on any machine."""

    def limit(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA max_page_count=60")

    path = tmp_path / "records.db"
    event.listen(Engine, "connect", limit)
    try:
        _fill_up(path, more_room=None)
    finally:
        event.remove(Engine, "connect", limit)
    with open_store(path) as store:
        store.append(begin(store), [trial(number, 1.0) for number in range(2000)])


def test_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    more_room = ["mount", "-o", "remount,size=16m", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this user may not mount a small disk to fill")
    try:
        _fill_up(disk / "records.db", more_room)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def _fill_up(path: Path, more_room: list[str] | None) -> None:
    """Append until the disk is full; then check what is said and that nothing is lost.

    Given a command that makes ``more_room``, the same run can go on after it.
    """
    batch = [trial(number, 1.0 + number) for number in range(100)]
    stored = 0
    with open_store(path) as store:
        session = begin(store)
        with pytest.raises(StoreError) as raised:
            while stored < 100_000:
                store.append(session, batch)
                stored += len(batch)
        assert "its disk is full" in _message(raised, path)
        assert store.count("matmul") == stored > 0
        kept = rescue([session.record(it) for it in batch], store.folder)
        if more_room is not None:
            subprocess.run(more_room, check=True)
            store.append(session, batch)
            assert store.count("matmul") == stored + len(batch)
    with open_store(path.parent.parent / "elsewhere.db") as other:
        assert other.import_rescued(kept) == len(batch)
        assert [it.measurement for it in other.records("matmul")] == batch
    kept.unlink()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


_INTERRUPTED = """
import sys
from pathlib import Path
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from tunesmith.store import open_store

def interrupt(self, connection):
    raise KeyboardInterrupt

store = open_store(Path(sys.argv[1]))
SQLiteDialect_pysqlite.do_close = interrupt
try:
    store.close()
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_while_it_closes_prints_nothing(filled: Path) -> None:
    """In a process of its own: pytest sets logging up."""
    command = [sys.executable, "-c", _INTERRUPTED, str(filled)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("interrupted\n", "")
