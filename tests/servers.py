"""Fixtures of a real PostgreSQL server; a ``conftest.py`` that needs them imports them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, text

from tunesmith.bench.store.server import own_server
from tunesmith.errors import MissingDependencyError


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a server on loopback, up to the name of the database: ``…/`` + name."""
    pytest.importorskip("psycopg", reason="the extra 'postgresql' is not installed")
    try:
        running = own_server("-c fsync=off")
        server = running.__enter__()
    except MissingDependencyError as error:
        pytest.skip(f"no PostgreSQL server on this machine ({error})")
    try:
        yield server.url
    finally:
        running.__exit__(None, None, None)


@pytest.fixture(scope="session")
def administrator(postgresql_server: str) -> Iterator[Engine]:
    """A connection to the server that makes databases and disturbs them."""
    url = postgresql_server.replace("postgresql:", "postgresql+psycopg:") + "postgres"
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    yield engine
    engine.dispose()


@pytest.fixture
def postgresql_location(postgresql_server: str, administrator: Engine) -> str:
    """The URL of a new, empty database."""
    name = f"store_{uuid.uuid4().hex}"
    with administrator.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    return postgresql_server + name


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that is not there yet, of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "records.db")
    return str(request.getfixturevalue("postgresql_location"))
