"""A tracker and devices on loopback, each a real process of the command line."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.cli.command import Process, eventually

MISSING_OF_TRACKER = None if importlib.util.find_spec("tornado") else "the tracker needs tornado"
needs_tracker = pytest.mark.skipif(MISSING_OF_TRACKER is not None, reason=str(MISSING_OF_TRACKER))
"""For tests with a tracker."""


@dataclass
class Started:
    """A tracker or device that listens on ``port``, and what it printed so far."""

    process: Process
    port: int
    lines: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def kill(self, *, number: int = signal.SIGKILL) -> None:
        """Send a signal to it and to all that it has started, as far as they are there."""
        for member in self.process.family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(member.pid, number)
        if number == signal.SIGKILL:
            eventually(lambda: not self.process.family(), "all of it is gone")

    @property
    def serves(self) -> bool:
        """Whether a host has a session with this device."""
        return len(self.process.family()) > 1

    def read(self) -> str:
        """The next line that it prints; waits for it."""
        assert self.process.process.stderr is not None
        line = self.process.process.stderr.readline()
        self.lines.append(line)
        return line


@contextlib.contextmanager
def started(*words: object, **options: Any) -> Iterator[Started]:
    """A command that listens on a port, from when it says so to the end of the block."""
    process = Process.start(words, **options)
    with process.cleaned_up():
        assert process.process.stderr is not None
        line = process.process.stderr.readline()
        found = re.search(r"on port (\d+); Ctrl-C ends", line)
        assert found, line
        yield Started(process, int(found[1]), [line])


@contextlib.contextmanager
def tracker(port: int = 0) -> Iterator[Started]:
    """A tracker."""
    with started("tracker", "--host", "127.0.0.1", "--port", port) as it:
        yield it


@contextlib.contextmanager
def device(tracker: Started, key: str = "local", *words: object) -> Iterator[Started]:
    """A device of a tracker, which is this machine."""
    here = ("--host", "127.0.0.1")
    with started("device", "--tracker", tracker.address, "--key", key, *here, *words) as it:
        yield it
