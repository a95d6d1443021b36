"""The store over a real PostgreSQL server, on the same code path as SQLite."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, text

from tests.store.statements import statements_of
from tunesmith.errors import StoreError
from tunesmith.store import open_store
from tunesmith.testing.store import StoreConformance, begin, trial


class TestPostgresql(StoreConformance):
    @pytest.fixture
    def location(self, postgresql_location: str) -> str:
        return postgresql_location


def _fault(location: str, *, patience: float = 0.0) -> str:
    """The message of the error that opening and writing a store ends with."""
    with (
        pytest.raises(StoreError) as raised,
        open_store(location, patience=patience) as store,
    ):
        store.append(begin(store), [trial(1, 1.0)])
    message = str(raised.value)
    assert "\n" not in message
    return message


def test_server_that_is_not_there() -> None:
    pytest.importorskip("psycopg")
    message = _fault("postgresql://ann:secret@127.0.0.1:1/db?password=secret")
    assert message.startswith("store postgresql+psycopg://ann:***@127.0.0.1:1/db does not answer")
    assert "secret" not in message


def test_database_that_is_not_there(postgresql_server: str) -> None:
    assert '"nowhere" does not exist): check that it exists' in _fault(
        postgresql_server + "nowhere"
    )


def test_user_who_may_not_enter(postgresql_location: str) -> None:
    message = _fault(postgresql_location.replace("tunesmith@", "stranger@"))
    assert "refuses access" in message


def test_user_who_may_not_write(postgresql_location: str) -> None:
    open_store(postgresql_location).close()
    with create_engine(_driver(postgresql_location)).begin() as connection:
        connection.execute(text("DROP ROLE IF EXISTS reader"))
        connection.execute(text("CREATE ROLE reader LOGIN"))
        connection.execute(text("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"))
    assert "refuses access" in _fault(postgresql_location.replace("tunesmith@", "reader@"))


def test_read_only_server(postgresql_location: str) -> None:
    with open_store(postgresql_location) as store:
        store.append(begin(store), [trial(1, 1.0)])
    read_only = postgresql_location + "?options=-c%20default_transaction_read_only%3Don"
    assert "is read-only" in _fault(read_only)
    with open_store(read_only) as store:
        assert store.count("matmul") == 1


def test_locked_table(postgresql_location: str) -> None:
    with open_store(postgresql_location, patience=0.0) as store:
        session = begin(store)
        with create_engine(_driver(postgresql_location)).begin() as other:
            other.execute(text("LOCK TABLE records IN ACCESS EXCLUSIVE MODE"))
            with pytest.raises(StoreError, match="is locked by another process"):
                store.append(session, [trial(1, 1.0)])
        store.append(session, [trial(1, 1.0)])
        assert store.count("matmul") == 1


def test_connection_that_the_server_dropped(
    postgresql_location: str, administrator: Engine
) -> None:
    with open_store(postgresql_location) as store:
        session = begin(store)
        with administrator.connect() as connection:
            drop = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name"
            name = postgresql_location.rsplit("/", 1)[1]
            assert connection.execute(text(drop), {"name": name}).all() != []
        store.append(session, [trial(1, 1.0)])
        assert store.count("matmul") == 1


def test_no_statement_keeps_a_plan_of_when_the_store_was_small(postgresql_location: str) -> None:
    with open_store(postgresql_location) as store:
        store.append(begin(store), [trial(1, 1.0)])
        for _ in range(20):  # more than drivers and servers wait before they keep a plan
            assert store.best("matmul") is not None
        count = text("SELECT count(*) FROM pg_prepared_statements")
        kept = store._database.read(lambda connection: connection.execute(count).scalar_one())
        assert kept == 0


def test_database_without_an_encoding(postgresql_server: str, administrator: Engine) -> None:
    with administrator.connect() as connection:
        connection.execute(text("DROP DATABASE IF EXISTS plain"))
        connection.execute(text("CREATE DATABASE plain ENCODING 'SQL_ASCII' TEMPLATE template0"))
    with open_store(postgresql_server + "plain") as store:
        store.append(begin(store, task="größe"), [trial(1, 1.0)])
        assert [task.key for task in store.tasks()] == ["größe"]


def test_missing_driver() -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from tunesmith.errors import MissingDependencyError\n"
        "from tunesmith.store import open_store\n"
        "try: open_store('postgresql://host/db')\n"
        "except MissingDependencyError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "store postgresql+psycopg://host/db needs the package 'psycopg', which is missing: "
        "install tunesmith[postgresql]\n"
    )


@pytest.mark.parametrize("analyzed", [False, True])
def test_the_best_is_found_without_reading_all_records(
    analyzed: bool, postgresql_location: str
) -> None:
    with open_store(postgresql_location) as store:
        store.append(begin(store), [trial(number, 1.0 + number) for number in range(500)])
        asked = statements_of(lambda: store.best("matmul"))
    (statement,) = (it for it in asked if "ORDER BY records.seconds" in it[0])
    with create_engine(_driver(postgresql_location)).begin() as connection:
        if analyzed:
            connection.execute(text("ANALYZE records"))
        # A table as small as this one is read as a whole otherwise.
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        explain = f"EXPLAIN (FORMAT JSON) {statement[0]}"
        (plan,) = connection.exec_driver_sql(explain, statement[1]).scalar_one()
    conditions = [node["Index Cond"] for node in _nodes(plan["Plan"]) if "Index Name" in node]
    assert len(conditions) == 3
    assert all("series_id =" in condition for condition in conditions)
    assert all(node["Node Type"] != "Seq Scan" for node in _nodes(plan["Plan"]))


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The nodes of a plan."""
    yield plan
    for part in plan.get("Plans", ()):
        yield from _nodes(part)


def _driver(location: str) -> str:
    return location.replace("postgresql:", "postgresql+psycopg:")
