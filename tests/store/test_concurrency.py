"""Several processes at one store, and processes that die: nothing committed is lost."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tunesmith.errors import StoreError
from tunesmith.store import open_store
from tunesmith.testing.store import begin, trial

_BATCHES, _BATCH = 40, 5

# Real processes with nothing inherited, as when a user starts Tunesmith twice.
_WRITER = """
import sys
from tunesmith.store import open_store
from tunesmith.testing.store import begin, trial
location, batches, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.stdin.readline()
with open_store(location) as store:
    session = begin(store)
    for batch in range(batches):
        store.append(session, [trial(batch * size + i, 1.0 + i) for i in range(size)])
        print(batch + 1, flush=True)
"""
_LOCKER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
"""


def _start(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)


def _let_go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_processes_make_and_write_one_store(location: str) -> None:
    writers = [_start(_WRITER, location, _BATCHES, _BATCH) for _ in range(3)]
    for writer in writers:  # all at once, before there is a store
        _let_go(writer)
    for writer in writers:
        writer.communicate(timeout=PATIENCE)
        assert writer.returncode == 0
    with open_store(location) as store:
        assert store.count("matmul") == 3 * _BATCHES * _BATCH
        sessions = store.sessions("matmul")
        assert len(sessions) == 3
        expected = [trial(number, 1.0 + number % _BATCH) for number in range(_BATCHES * _BATCH)]
        for session in sessions:
            found = [it.measurement for it in store.records("matmul", session=session)]
            assert found == expected


def test_killed_writer_loses_no_commit(location: str) -> None:
    writer = _start(_WRITER, location, 100_000, 10)
    _let_go(writer)
    assert writer.stdout is not None
    reported = 0
    while reported < 20:
        reported = int(writer.stdout.readline())
    writer.kill()  # SIGKILL, most likely in the middle of an append
    rest = writer.stdout.read().split()
    writer.communicate()
    reported = max([reported, *map(int, rest)])
    with open_store(location) as store:
        stored = store.measurements("matmul", sketch="tiles", sketch_version=1)
        assert len(stored) % 10 == 0  # no half of a batch
        assert reported <= len(stored) // 10 <= reported + 1
        assert stored == [trial(number, 1.0 + number % 10) for number in range(len(stored))]
        (session,) = store.sessions("matmul")
        assert session.finished is None
        store.append(begin(store), [trial(1, 0.5)])
        assert store.count("matmul") == len(stored) + 1
    if "://" not in location:
        with closing(sqlite3.connect(location)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@contextmanager
def _locked(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process holds the write lock; it ends when told to let go."""
    locker = _start(_LOCKER, path)
    assert locker.stdout is not None
    assert locker.stdout.readline() == "locked\n"
    try:
        yield locker
    finally:
        locker.communicate(timeout=PATIENCE)


def test_lock_that_stays(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    with open_store(path, patience=0.0) as store:
        session = begin(store)
        store.append(session, [trial(1, 1.0)])
        with _locked(path):
            with pytest.raises(StoreError) as raised:
                store.append(session, [trial(2, 2.0)])
            assert str(raised.value).startswith(f"store {path} is locked by another process: let")
            assert store.count("matmul") == 1  # readers are not stopped
        store.append(session, [trial(2, 2.0)])
        assert store.count("matmul") == 2


def test_lock_that_goes_away(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    with open_store(path, patience=60.0) as store, _locked(path) as locker:
        timer = threading.Timer(1.5, _let_go, [locker])  # longer than one wait inside SQLite
        timer.start()
        begin(store)
        timer.join()
        assert len(store.sessions("matmul")) == 1


_FORKER = """
import gc, os, sys
from tunesmith.store import open_store
from tunesmith.testing.store import begin, trial
store = open_store(sys.argv[1])
session = begin(store)
store.append(session, [trial(1, 1.0)])
if os.fork() == 0:  # as a measurer's worker: it inherits the store, and ends without using it
    del store
    gc.collect()
    sys.exit()
os.wait()
store.append(session, [trial(2, 2.0)])
print("stored", flush=True)
os.kill(os.getpid(), 9)
"""


def test_forked_child_that_ends_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    forker = _start(_FORKER, path)
    assert forker.communicate(timeout=PATIENCE)[0] == "stored\n"
    with open_store(path) as store:
        assert store.measurements("matmul", sketch="tiles", sketch_version=1) == [
            trial(1, 1.0),
            trial(2, 2.0),
        ]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
