"""The store over a real PostgreSQL server, on the same code path as SQLite."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading

import pytest
from sqlalchemy import Engine, create_engine, text

from tunesmith.errors import MissingDependencyError, StoreError
from tunesmith.store import Store, open_store
from tunesmith.testing.store import StoreConformance, begin, trial

_numbers = itertools.count()


@pytest.fixture(scope="session")
def admin(postgresql_server: str) -> Engine:
    url = postgresql_server.replace("postgresql:", "postgresql+psycopg:") + "postgres"
    return create_engine(url, isolation_level="AUTOCOMMIT")


@pytest.fixture
def location(postgresql_server: str, admin: Engine) -> str:
    """A new, empty database."""
    name = f"store_{next(_numbers)}"
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    return postgresql_server + name


class TestPostgresql(StoreConformance):
    pass
