"""A process that runs a module of ours, and its parent's connection to it."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tunesmith.measure.failure import last_line
from tunesmith.measure.processes.channel import Channel, ChannelClosedError, Message
from tunesmith.measure.processes.containment import kill_session

FAREWELL = 5.0
"""How long a process may take to end by itself before it is killed; in seconds."""

# Of what a process prints, the last bytes are looked at.
_TAIL = 1 << 12


class SpawnedProcess:
    """``python -m module DESCRIPTOR ARGUMENTS...``; the descriptor is its end of a ``Channel``.

    It should end when that is closed. ``environment`` is added to ours.
    """

    def __init__(
        self, module: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> None:
        ours, theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 # open as long as the process
        # -P: a module of the current directory must not hide one of ours.
        command = [sys.executable, "-P", "-m", module, str(theirs.fileno()), *arguments]
        with theirs:
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env={**os.environ, "PYTHONPATH": _module_path(), **(environment or {})},
                # Ctrl-C in a terminal is for us: we decide what becomes of the work.
                start_new_session=True,
            )
        self._channel = Channel(ours)

    def fileno(self) -> int:
        """What becomes readable when it has sent something, or has ended."""
        return self._channel.fileno()

    @property
    def unsent(self) -> bool:
        """Whether part of a message waits to be sent."""
        return self._channel.unsent

    def send(self, message: Message) -> None:
        """Send as much of a message as fits; ``receive`` sends the rest, and reports a process that
        has ended."""
        with contextlib.suppress(ChannelClosedError):
            self._channel.send(message)

    def receive(self, timeout: float) -> list[dict[str, Any]]:
        """The messages that there are; waits up to ``timeout`` seconds for the first.

        Raises ``ChannelClosedError`` if the process has died.
        """
        self._channel.wait(timeout)
        return self._channel.receive()

    @property
    def alive(self) -> bool:
        return not self._ends_within(0.0)

    @property
    def exit_code(self) -> int | None:
        """As of ``subprocess``, negative for a signal; None until it was stopped."""
        return self._process.returncode

    def stop(self, grace: float = FAREWELL) -> str:
        """End the process with all that it has started. Returns the last line that it printed.

        It has so many seconds to end by itself.
        """
        self._channel.close()
        if not self._ends_within(grace):
            self._process.kill()
        # What it has started would go on. It has its number until it is waited for, and so has its
        # session.
        kill_session(self._process.pid)
        self._process.wait()
        with self._errors as errors:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - _TAIL))
            return last_line(errors.read())

    def _ends_within(self, seconds: float) -> bool:
        handle = os.pidfd_open(self._process.pid)
        try:
            poll = select.poll()  # select() refuses descriptors above 1023
            poll.register(handle, select.POLLIN)
            return bool(poll.poll(1000.0 * seconds))
        finally:
            os.close(handle)


def _module_path() -> str:
    """Where modules are found, so that they are found there too."""
    return os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
