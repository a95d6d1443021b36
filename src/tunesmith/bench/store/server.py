"""A PostgreSQL server of our own, in a folder that goes away with it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from tunesmith.errors import MissingDependencyError, TunesmithError
from tunesmith.measure.failure import last_line

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
_OWNER = "postgres"


@dataclass(frozen=True)
class Server:
    """A running server on loopback; ``url`` is that of its databases, up to their name."""

    url: str
    version: str
    _control: Sequence[str]
    _user: str | None
    _log: Path

    @property
    def location(self) -> str:
        """The URL of its first database."""
        return self.url + "postgres"

    def restart(self) -> None:
        """End it as a crash does, without a word to its clients, and start it again."""
        _run([*self._control, "restart", "-m", "immediate"], self._user)

    def stop(self, *, check: bool = True) -> None:
        """End it as a crash does; without ``check`` it need not be running."""
        with nullcontext() if check else suppress(TunesmithError):
            _run([*self._control, "stop", "-m", "immediate"], self._user)

    def said(self, words: str) -> int:
        """In how many lines its log has these words."""
        return sum(words in line for line in self._log.read_text(errors="replace").splitlines())


@contextmanager
def own_server(*options: str) -> Iterator[Server]:
    """Run a server for the block; ``options`` are those of ``postgres``, such as ``-c fsync=off``.

    Raises ``MissingDependencyError`` if PostgreSQL or its driver is not installed, or may not run
    as this user.
    """
    initdb, control = _program("initdb"), _program("pg_ctl")
    user = _user()
    with tempfile.TemporaryDirectory(prefix="tunesmith-pg-", ignore_cleanup_errors=True) as folder:
        if user is not None:
            shutil.chown(folder, user)
        data, log = f"{folder}/data", Path(folder) / "log"
        made = ["-U", "tunesmith", "-A", "trust", "--no-sync", "--no-locale", "-E", "UTF8"]
        _run([initdb, "-D", data, *made], user)
        version = _run([control, "--version"], user).split(") ")[-1].split()[0]
        port = _free_port()  # after all that takes long: others may take it
        given = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} {' '.join(options)}"
        steer = [control, "-D", data, "-w", "-t", "300", "-l", str(log), "-o", given]
        server = Server(f"postgresql://tunesmith@127.0.0.1:{port}/", version, steer, user, log)
        _run([*steer, "start"], user)
        try:
            yield server
        finally:
            server.stop(check=False)


def _program(name: str) -> str:
    path = os.pathsep.join([*map(str, _FOLDERS), os.environ.get("PATH", "")])
    found = shutil.which(name, path=path)
    if found is None:
        raise MissingDependencyError(
            f"the program '{name}' of PostgreSQL's server is missing: install PostgreSQL"
        )
    return found


def _user() -> str | None:
    """Whom to run it as: PostgreSQL refuses to run as root."""
    import pwd

    if os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam(_OWNER)
    except KeyError as error:
        raise MissingDependencyError(
            f"PostgreSQL does not run as root, and there is no user '{_OWNER}': run as another user"
        ) from error
    return _OWNER


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _run(command: Sequence[str], user: str | None) -> str:
    # A server that is started inherits the streams: the end of a pipe would never come.
    with tempfile.TemporaryFile() as output:
        ran = subprocess.run(command, user=user, cwd="/", stdout=output, stderr=output, check=False)
        output.seek(0)
        said = output.read()
    if ran.returncode:
        raise TunesmithError(f"PostgreSQL fails: {last_line(said)}")
    return said.decode()
