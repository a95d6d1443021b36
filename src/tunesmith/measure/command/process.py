"""Starts commands through a launcher process, which confines and times them."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tunesmith.errors import one_line
from tunesmith.measure.failure import signal_name

# The bytes kept of each of a command's two outputs: the last ones, with results and errors.
OUTPUT_LIMIT = 1 << 20

_LAUNCHER = Path(__file__).with_name("launcher.py")


@dataclass(frozen=True)
class CommandResult:
    """The result of one command.

    ``status`` is the exit status, or minus the number of the signal that ended it. ``seconds`` is
    the wall-clock time from before the start of the process to its end or the timeout. ``error`` is
    the reason why the command could not be started; ``lost`` means that its fate is unknown.
    """

    status: int = 0
    seconds: float = 0.0
    timed_out: bool = False
    stdout: str = ""
    stderr: str = ""
    error: str = ""
    lost: bool = False

    @property
    def failure(self) -> str:
        """Why the command failed, in one line; empty if it succeeded. Does not cover timeouts."""
        if self.error:
            return self.error
        if self.status == 0:
            return ""
        ending = (
            f"exit status {self.status}"
            if self.status > 0
            else f"killed by {signal_name(-self.status)}"
        )
        lines = self.stderr.strip().splitlines()
        return one_line(f"{ending}: {lines[-1]}" if lines else ending)


class CommandRunner:
    """Runs commands one at a time through a launcher, which starts with the first command.

    Each command leads its own session. It is killed with all its descendants when it ends, at its
    timeout, when ``run`` is interrupted, and when this process dies. Its standard input is empty.
    The launcher is spawned, not forked, because this process may be large and have threads.
    """

    def __init__(self) -> None:
        self._launcher: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        timeout: float,
        memory_limit: int,
    ) -> CommandResult:
        """Run a command; ``timeout`` in seconds, ``memory_limit`` in bytes for each process."""
        request = {
            "argv": list(argv),
            "cwd": str(cwd),
            "env": dict(env),
            "timeout": timeout,
            "memory_limit": memory_limit,
            "keep": OUTPUT_LIMIT,
        }
        try:
            answer = self._ask(json.dumps(request).encode() + b"\n")
        except BaseException:
            self.close()
            raise
        if not answer:
            self.close()
            return CommandResult(error="the process that starts the commands has died", lost=True)
        return CommandResult(**json.loads(answer))

    def close(self) -> None:
        """Kill what runs and end the launcher. Safe to call twice; ``run`` starts a new one."""
        if self._connection is not None:
            # Closing alone has no effect if a fork of this process has the socket, too.
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)
            self._connection.close()
        if self._launcher is not None:
            self._launcher.wait()
        self._connection = self._launcher = None

    def _ask(self, request: bytes) -> bytes:
        """The launcher's answer; empty if it has died."""
        connection = self._connection or self._connect()
        try:
            connection.sendall(request)
            with connection.makefile("rb") as answers:
                return answers.readline()
        except ConnectionError:
            return b""

    def _connect(self) -> socket.socket:
        self._connection, its_end = socket.socketpair()
        with its_end:
            self._launcher = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_LAUNCHER)],
                stdin=its_end.fileno(),
                stdout=its_end.fileno(),
                # Ctrl-C must reach only this process, which then ends the command.
                start_new_session=True,
            )
        return self._connection
