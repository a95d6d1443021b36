"""The client's end of a measuring server: starts it, talks to it, gets rid of it."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tunesmith.measure.failure import last_line
from tunesmith.measure.processes.channel import Channel, ChannelClosedError, Message
from tunesmith.measure.processes.containment import kill_session
from tunesmith.measure.trial.job import Job

# How long a server may take to kill its trials and end before it is killed; in seconds.
_FAREWELL = 5.0

# Of what a server prints, the last bytes are looked at.
_TAIL = 1 << 12


class ServerProcess:
    """A running server, which loads the compiler and then waits for a job, and after it for others.

    ``started`` tells whether it has got so far as to take requests for its job.
    """

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.started = False
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 # open as long as the server
        # For what compilers leave behind when they are killed. This process and the server both
        # remove it: either may end last.
        self._scratch = tempfile.mkdtemp(prefix="tunesmith-")
        # -P: a module of the current directory must not hide one of ours.
        command = [sys.executable, "-P", "-m", "tunesmith.measure.local.server"]
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [*command, str(theirs.fileno()), self._scratch],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._errors,
                    env={**os.environ, "PYTHONPATH": _module_path(), "TMPDIR": self._scratch},
                    # Ctrl-C in a terminal is for us: we decide what becomes of the trials.
                    start_new_session=True,
                )
            except BaseException:
                shutil.rmtree(self._scratch, ignore_errors=True)
                raise
        self._channel = Channel(ours)

    @classmethod
    def with_job(cls, job: Job) -> ServerProcess:
        """A new server for a job. Raises like ``Job.to_text``."""
        text = job.to_text()
        server = cls()
        server._give(text)
        return server

    def prepare(self, job: Job) -> None:
        """Let it get ready for a job; it gives up the one before. Raises like ``Job.to_text``."""
        self._give(job.to_text())

    def _give(self, job: str) -> None:
        self.started = False
        self.send({"kind": "job", "job": job})

    @property
    def alive(self) -> bool:
        return not self._ends_within(0.0)

    def send(self, message: Message) -> None:
        """Send as much of a message as fits; ``receive`` sends the rest, and reports a server that
        has ended."""
        with contextlib.suppress(ChannelClosedError):
            self._channel.send(message)

    def receive(self, timeout: float) -> list[dict[str, Any]]:
        """The messages that there are; waits up to ``timeout`` seconds for the first.

        Those about an earlier job are left out. Raises ``ChannelClosedError`` if the server has
        died.
        """
        self._channel.wait(timeout)
        found = []
        for message in self._channel.receive():
            self.started = self.started or message["kind"] == "started"
            if self.started or message["kind"] == "failed":
                found.append(message)
        return found

    def stop(self, grace: float = _FAREWELL) -> str:
        """End the server with all its trials. Returns the last line that it printed.

        It has so many seconds to end by itself.
        """
        self._channel.close()
        # Before it has started it has no trials, and may be busy for long.
        if not self._ends_within(grace if self.started else 0.0):
            self._process.kill()  # its trials die with it
        # What trials have started would go on. The server has its number until it is waited for,
        # and so has its session.
        kill_session(self._process.pid)
        self._process.wait()
        shutil.rmtree(self._scratch, ignore_errors=True)
        with self._errors as errors:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - _TAIL))
            return last_line(errors.read())

    def _ends_within(self, seconds: float) -> bool:
        handle = os.pidfd_open(self._process.pid)
        try:
            return bool(select.select([handle], [], [], seconds)[0])
        finally:
            os.close(handle)


def _module_path() -> str:
    """Where modules are found, so that they are found there too."""
    return os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
