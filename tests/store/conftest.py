"""Where the stores under test are: files, and databases of a real PostgreSQL server."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, text

_SERVER_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
_SERVER_USER = "postgres"


def _server_program(name: str) -> str | None:
    path = os.pathsep.join([*map(str, _SERVER_FOLDERS), os.environ.get("PATH", "")])
    return shutil.which(name, path=path)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a server on loopback, up to the name of the database: ``…/`` + name."""
    pytest.importorskip("psycopg", reason="the extra 'postgresql' is not installed")
    initdb, control = _server_program("initdb"), _server_program("pg_ctl")
    if initdb is None or control is None:
        pytest.skip("no PostgreSQL server on this machine (initdb, pg_ctl)")
    user = None
    if os.geteuid() == 0:  # which PostgreSQL refuses to run as
        user = _SERVER_USER
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="tunesmith-pg-", ignore_cleanup_errors=True) as folder:
        if user is not None:
            try:
                shutil.chown(folder, user)
            except LookupError:
                pytest.skip(f"run as root, and there is no user '{user}' to run PostgreSQL as")

        def run(*command: str) -> None:
            subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)

        data = f"{folder}/data"
        run(
            initdb,
            "-D",
            data,
            "-U",
            "tunesmith",
            "-A",
            "trust",
            "--no-sync",
            "--no-locale",
            "-E",
            "UTF8",
        )
        options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} -c fsync=off"
        run(control, "-D", data, "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"postgresql://tunesmith@127.0.0.1:{port}/"
        finally:
            run(control, "-D", data, "-w", "-m", "immediate", "stop")


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
