"""Servers that restart or stay away, and files that are moved, while a store is in use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, make_url, text
from sqlalchemy.exc import OperationalError as WrappedError

from tests.patience import PATIENCE
from tunesmith.bench.store.server import own_server
from tunesmith.errors import MissingDependencyError, StoreError
from tunesmith.measurement import Outcome
from tunesmith.store import StoredEvaluation, database, open_store
from tunesmith.testing.store import begin, trial

# Another process, with nothing inherited: it tells how many records it was told are stored.
_WRITER = """
import sys
from tunesmith.store import open_store
from tunesmith.testing.store import begin, trial
with open_store(sys.argv[1], patience=300.0) as store:
    session = begin(store)
    for number in range(int(sys.argv[2])):
        store.append(session, [trial(number, 1.0)])
        print(number + 1, flush=True)
"""


@pytest.fixture(scope="module")
def _has_server() -> None:
    pytest.importorskip("psycopg", reason="the extra 'postgresql' is not installed")
    try:
        with own_server("-c fsync=off"):
            pass
    except MissingDependencyError as error:
        pytest.skip(f"no PostgreSQL server on this machine ({error})")


@pytest.mark.usefixtures("_has_server")
def test_a_restart_loses_nothing_and_stores_nothing_twice() -> None:
    records = 400
    with own_server("-c fsync=off") as server:
        command = [sys.executable, "-c", _WRITER, server.location, str(records)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for goal in (50, 150):
                while int(writer.stdout.readline()) < goal:
                    pass
                server.restart()
            writer.communicate(timeout=PATIENCE)
            assert writer.returncode == 0
        with open_store(server.location) as store:
            stored = store.measurements("matmul", sketch="tiles", sketch_version=1)
            assert stored == [trial(number, 1.0) for number in range(records)]


@pytest.mark.usefixtures("_has_server")
def test_a_server_that_stays_away() -> None:
    with own_server("-c fsync=off") as server, open_store(server.location, patience=1.0) as store:
        session = begin(store)
        server.stop()
        for _ in range(2):
            with pytest.raises(StoreError, match="does not answer") as raised:
                store.append(session, [trial(1, 1.0)])
            assert "\n" not in str(raised.value)


@pytest.mark.parametrize("idle", [True, False])
def test_a_connection_that_the_server_closed(
    idle: bool, postgresql_location: str, administrator: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was idle is asked for first; another one costs a try."""
    monkeypatch.setattr(database, "_IDLE_SECONDS", -1.0 if idle else PATIENCE)
    name = make_url(postgresql_location).database
    close = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name")
    with open_store(postgresql_location, patience=0.0 if idle else PATIENCE) as store:
        session = begin(store)
        for number in range(2):
            with administrator.connect() as connection:
                # The one of the round before may not have left the list yet.
                assert True in connection.execute(close, {"name": name}).scalars().all()
            store.append(session, [trial(number, 1.0)])
        assert store.count("matmul") == 2


def _lost_connection() -> Exception:
    psycopg = pytest.importorskip("psycopg", reason="the extra 'postgresql' is not installed")
    lost: Exception = psycopg.OperationalError("server closed the connection unexpectedly")
    return lost


def _break_after_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next transaction is stored, but the connection is lost before that is known."""
    whole: Any = database._transact
    broken: list[bool] = []
    lost = _lost_connection()

    def transact(engine: Engine, work: object) -> object:
        result = whole(engine, work)
        if not broken:
            broken.append(True)
            raise WrappedError("COMMIT", None, lost)
        return result

    monkeypatch.setattr(database, "_transact", transact)


def test_what_was_stored_before_the_connection_broke_is_not_stored_again(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(location) as store:
        session = begin(store)
        store.append(session, [trial(1, 1.0)])
        _break_after_commit(monkeypatch)
        store.append(session, [trial(2, 2.0), trial(3, 3.0)])
        assert store.measurements("matmul", sketch="tiles", sketch_version=1) == [
            trial(number, float(number)) for number in (1, 2, 3)
        ]


def test_an_evaluation_is_not_stored_again_either(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(location) as store:
        session = begin(store)
        seen = StoredEvaluation("p", [], Outcome.NO_ERROR, 1.0, 1.0, 0.0, "", session.started)
        _break_after_commit(monkeypatch)
        store.add_evaluations(session, [seen])
        assert store.evaluations("matmul") == [seen]


def test_what_was_not_stored_is_stored_after_all(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: Any = database._transact
    errors = [_lost_connection()]

    def transact(engine: Engine, work: object) -> object:
        if errors:
            raise WrappedError("INSERT", None, errors.pop())
        return whole(engine, work)

    with open_store(location) as store:
        session = begin(store)
        monkeypatch.setattr(database, "_transact", transact)
        store.append(session, [trial(1, 1.0)])
        assert store.count("matmul") == 1


@pytest.mark.parametrize("how", ["moved away or removed", "replaced by another file"])
def test_a_file_that_is_not_there_any_more(tmp_path: Path, how: str) -> None:
    path = tmp_path / "records.db"
    with open_store(path) as store:
        session = begin(store)
        store.append(session, [trial(1, 1.0)])
        path.rename(tmp_path / "moved.db")
        if how.startswith("replaced"):
            open_store(path).close()
        with pytest.raises(StoreError) as raised:
            store.append(session, [trial(2, 2.0)])
        assert str(raised.value) == (
            f"store {path} was {how} while in use: put it back, or go on with another store"
        )
        if how.startswith("moved"):
            (tmp_path / "moved.db").rename(path)
            store.append(session, [trial(2, 2.0)])
            assert store.count("matmul") == 2


def test_a_wrong_password(postgresql_location: str, administrator: Engine) -> None:
    rule = "host all locked 127.0.0.1/32 scram-sha-256"
    with administrator.connect() as connection:
        connection.execute(text("DROP ROLE IF EXISTS locked"))
        connection.execute(text("CREATE ROLE locked LOGIN PASSWORD 'right'"))
        before = _replace_rules(connection, lambda rules: f"{rule}\n{rules}")
        try:
            for name, complaint in {
                "locked:wrong@": "password authentication failed",
                "locked@": "no password supplied",
            }.items():
                with pytest.raises(StoreError, match="refuses access") as raised:
                    open_store(postgresql_location.replace("tunesmith@", name))
                message = str(raised.value)
                assert complaint in message
                assert "check the user, password and permissions" in message
                assert "\n" not in message
                assert "wrong" not in message
        finally:
            _replace_rules(connection, lambda rules: before)


def _replace_rules(connection: Connection, change: object) -> str:
    """Change who may connect how, as the server's file says; returns what it said."""
    file = connection.execute(text("SHOW hba_file")).scalar_one()
    before = str(connection.execute(text("SELECT pg_read_file(:f)"), {"f": file}).scalar_one())
    lines = change(before).replace("'", "''")  # type: ignore[operator]
    rows = f"SELECT unnest(string_to_array('{lines}', chr(10)))"
    connection.exec_driver_sql(f"COPY ({rows}) TO '{file}'")
    connection.execute(text("SELECT pg_reload_conf()"))
    return before
