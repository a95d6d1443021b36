"""What the host's own work takes, whatever else the machine is doing."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

# Of the calling thread: nanoseconds on a processor, nanoseconds ready to run but without one, and
# how often it ran.
_SCHEDULER = Path("/proc/thread-self/schedstat")


def host_clock() -> float:
    """Seconds of this thread, from some moment on, without those in which it was ready to run and
    other threads had the processors.

    Waiting for a disk or a database counts, unlike in ``time.process_time``. Where the system does
    not tell how long a thread waited for a processor, this is the wall clock.
    """
    now = time.perf_counter()
    try:
        _, waited, _ = _SCHEDULER.read_text().split()
    except (OSError, ValueError):
        return now
    return now - int(waited) * 1e-9


class HostWork:
    """Adds up the seconds of the host's work from ``begin`` to ``stop``, but for paused blocks."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began: float | None = None
        self._frozen: float | None = 0.0
        self._left_out = 0.0
        self._stopped = False

    @property
    def begun(self) -> bool:
        """Whether it has begun."""
        return self._began is not None

    @property
    def seconds(self) -> float:
        """So far."""
        if self._frozen is not None:
            return self._frozen
        assert self._began is not None
        return self._clock() - self._began - self._left_out

    def begin(self) -> None:
        """Count from now on."""
        self._began, self._frozen = self._clock(), None

    def stop(self) -> None:
        """Count no more."""
        self._frozen, self._stopped = self.seconds, True

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Count nothing of a block."""
        if self._frozen is not None:
            yield
            return
        paused = self._clock()
        assert self._began is not None
        self._frozen = paused - self._began - self._left_out
        try:
            yield
        finally:
            if not self._stopped:
                self._frozen = None
            self._left_out += self._clock() - paused
