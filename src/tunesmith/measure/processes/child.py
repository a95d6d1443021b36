"""A process forked from the server: confined, connected to it and watched by it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from tunesmith.errors import describe
from tunesmith.measure.failure import (
    Verdict,
    describe_exit,
    last_line,
    out_of_memory,
    tells_no_memory,
)
from tunesmith.measure.processes.channel import Channel, ChannelClosedError
from tunesmith.measure.processes.containment import contain
from tunesmith.measurement import Outcome

# The longest message of a child in bytes.
_LONGEST_MESSAGE = 1 << 20

# A trial that dies with this share of its memory limit in use is assumed to have run out of memory.
_NEARLY_ALL = 0.9

# The capacity of a pipe in bytes: more of a child's output is dropped.
_PRINTED = 1 << 16


@dataclass(frozen=True)
class Exit:
    """How a child ended: its wait status, its peak memory in bytes, its last line of output."""

    status: int
    memory: int
    last_line: str

    def verdict(self, outcome: Outcome, limit: int, own_memory: int) -> Verdict:
        """On a trial whose process ended by itself, with a failure of this class.

        It was allowed ``limit`` bytes on top of the ``own_memory`` that it was forked with.
        """
        memory = self.memory - own_memory
        if memory > _NEARLY_ALL * limit or tells_no_memory(self.last_line):
            return Verdict(outcome, out_of_memory(limit))
        return Verdict(outcome, describe_exit(self.status, self.last_line))


class Child:
    """A forked child that runs ``body`` with its end of the connection, and ends with it.

    ``handle`` becomes readable when the child has ended, and is closed by ``reap``.
    ``memory_limit`` is the number of bytes that it may allocate with ``threads`` threads, None for
    no limit. Forking requires a single thread in a process that has never run a kernel. Raises
    ``OSError`` if the system cannot create a process.
    """

    def __init__(
        self, body: Callable[[Channel], None], memory_limit: int | None, threads: int
    ) -> None:
        ours, theirs = socket.socketpair()
        # The child's output is bounded: writes to a full pipe fail, and do not block.
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
        with contextlib.suppress(OSError):  # the child does the same; whichever comes first
            os.setpgid(self.pid, self.pid)
        self._printed = printed
        self.channel = Channel(ours, _LONGEST_MESSAGE)
        self.handle = os.pidfd_open(self.pid)

    @property
    def processor_seconds(self) -> float:
        """The processor time of the child so far, in seconds, of all its threads."""
        with contextlib.suppress(psutil.Error):
            times = psutil.Process(self.pid).cpu_times()
            return float(times.user + times.system)
        return 0.0

    def signal(self, number: int) -> None:
        """Send a signal to the child's process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """Kill the child's process group."""
        self.signal(signal.SIGKILL)

    def reap(self) -> Exit:
        """Free the resources of a child that has ended (see ``handle``)."""
        self.kill()  # the rest of its group: its id may be reused once the child is reaped
        _, status, usage = os.wait4(self.pid, 0)
        printed = ""
        with contextlib.suppress(BlockingIOError):
            printed = last_line(os.read(self._printed, _PRINTED))
        self.channel.close()
        os.close(self._printed)
        os.close(self.handle)
        return Exit(status, usage.ru_maxrss << 10, printed)
