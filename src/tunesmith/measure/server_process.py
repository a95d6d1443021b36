"""The client's end of a measuring server: starts it, talks to it, gets rid of it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tunesmith.measure.channel import Channel, ChannelClosedError, Message
from tunesmith.measure.failure import last_line
from tunesmith.measure.job import Job

# How long a server may take to kill its trials and end before it is killed; in seconds.
_FAREWELL = 5.0

# Of what a server prints, the last bytes are looked at.
_TAIL = 1 << 12


class ServerProcess:
    """A running server. ``started`` tells whether it has got so far as to take orders."""

    def __init__(self, job: Job, best: float) -> None:
        text = job.to_text()
        ours, theirs = socket.socketpair()
        self.started = False
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 # open as long as the server
        with theirs:
            self._process = subprocess.Popen(
                # -P: a module of the current directory must not hide one of ours.
                [sys.executable, "-P", "-m", "tunesmith.measure.server", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env=_environment(job.target.core_count),
                # Ctrl-C in a terminal is for us: we decide what becomes of the trials.
                start_new_session=True,
            )
        self._channel = Channel(ours)
        self.send({"job": text, "best": best})

    def send(self, message: Message) -> None:
        """Send a message. What does not fit goes out in ``receive``, which tells of a death too."""
        with contextlib.suppress(ChannelClosedError):
            self._channel.send(message)

    def receive(self, timeout: float) -> list[dict[str, Any]]:
        """The messages that there are; waits up to ``timeout`` seconds for the first.

        Raises ``ChannelClosedError`` if the server has died.
        """
        self._channel.wait(timeout)
        return self._channel.receive()

    def stop(self, grace: float = _FAREWELL) -> str:
        """End the server with all its trials. Returns the last line that it printed.

        It has so many seconds to end by itself.
        """
        self._channel.close()
        try:
            # Before it has started it has no trials, and may be busy for long.
            self._process.wait(grace if self.started else 0.0)
        except subprocess.TimeoutExpired:
            self._process.kill()  # its trials die with it
            self._process.wait()
        with self._errors as errors:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - _TAIL))
            return last_line(errors.read())


def _environment(threads: int) -> dict[str, str]:
    """Ours, with the modules found where we find them, and TVM told how many threads to use."""
    paths = [path or str(Path.cwd()) for path in sys.path]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "TVM_NUM_THREADS": str(threads),
    }
