"""A process forked from the server: confined, with a connection to it, and watched by it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass

from tunesmith.errors import describe
from tunesmith.measure.failure import last_line
from tunesmith.measure.processes.channel import Channel, ChannelClosedError
from tunesmith.measure.processes.containment import contain

# A message of a child is short: more bytes without an end are none.
_LONGEST_MESSAGE = 1 << 20

# What a pipe holds: all that is kept of what a child prints.
_PRINTED = 1 << 16


@dataclass(frozen=True)
class Exit:
    """How a child ended: its wait status, the most memory it had in bytes, its last line."""

    status: int
    memory: int
    words: str


class Child:
    """A forked child that runs ``body`` with its end of the connection, and ends with it.

    That may be by ``ChannelClosedError``: nobody wants to know any more what comes of it.
    ``handle`` becomes readable when it has ended; it is gone after ``reap``. ``memory_limit`` is
    what it may allocate, None for no limit, with so many ``threads``. Forking needs a single thread
    and no kernel ever run. Raises ``OSError`` if the system does not let a process be made.
    """

    def __init__(
        self, body: Callable[[Channel], None], memory_limit: int | None, threads: int
    ) -> None:
        ours, theirs = socket.socketpair()
        # What the child prints is bounded: it cannot write to a full pipe, nor wait for us.
        printed, errors = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        server = os.getpid()
        with theirs, os.fdopen(errors, "wb", buffering=0):
            try:
                self.pid = os.fork()
            except OSError:
                ours.close()
                os.close(printed)
                raise
            if self.pid == 0:
                status = 1
                try:
                    contain(server, theirs.fileno(), errors, memory_limit, threads)
                    with contextlib.suppress(ChannelClosedError):
                        body(Channel(theirs))
                    status = 0
                except BaseException as error:
                    print(describe(error), file=sys.stderr, flush=True)
                finally:
                    os._exit(status)
        with contextlib.suppress(OSError):  # the child does so too: whoever comes first
            os.setpgid(self.pid, self.pid)
        self._printed = printed
        self.channel = Channel(ours, _LONGEST_MESSAGE)
        self.handle = os.pidfd_open(self.pid)

    def signal(self, number: int) -> None:
        """Send a signal to it and all its descendants that did not leave its group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """Kill all of them."""
        self.signal(signal.SIGKILL)

    def reap(self) -> Exit:
        """It has ended, as ``handle`` tells: let go of all that is left of it."""
        self.kill()  # the rest of its group, which has this id only until the child is reaped
        _, status, usage = os.wait4(self.pid, 0)
        words = ""
        with contextlib.suppress(BlockingIOError):
            words = last_line(os.read(self._printed, _PRINTED))
        self.channel.close()
        os.close(self._printed)
        os.close(self.handle)
        return Exit(status, usage.ru_maxrss << 10, words)
