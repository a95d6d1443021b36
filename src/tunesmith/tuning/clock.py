"""What the seconds of a tuning run go to, by the wall clock or by a simulated one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tunesmith.problem import Measurer


class RunClock:
    """The seconds of a run, from when this is made.

    Where the measurer simulates, the clock moves by what trials are recorded to have cost and by
    the tuner's real thinking, and stands still otherwise: what the run does besides would hide in
    the minutes of a real trial, not in the microseconds that replaying one takes.
    """

    def __init__(self, measurer: Measurer) -> None:
        self._measurer = measurer
        self._thinking = 0.0
        self._bookkeeping = 0.0
        self._begun = time.monotonic()

    @contextlib.contextmanager
    def thinking(self) -> Iterator[None]:
        """Count the time of a block as search: the tuner's thinking."""
        started = time.monotonic()
        try:
            yield
        finally:
            self._thinking += time.monotonic() - started

    @contextlib.contextmanager
    def bookkeeping(self) -> Iterator[None]:
        """Count the time of a block as ``record``: it reads or saves records, or shows progress."""
        started = time.monotonic()
        try:
            yield
        finally:
            self._bookkeeping += time.monotonic() - started

    @property
    def elapsed(self) -> float:
        """Seconds so far."""
        simulated = self._measurer.simulated
        if simulated is None:
            return time.monotonic() - self._begun
        return self._thinking + simulated

    def split(self) -> dict[str, float]:
        """Seconds by phase, and the ``total`` that has passed. That is their sum, unless programs
        ran while the tuner was thinking: that time counts for both.

        What the tuner and the run do while programs are built counts as search and record alone.
        """
        trials = self._measurer.time_split()
        busy = {
            "search": self._thinking,
            "build": trials["build"],
            "run": trials["run"],
            "record": 0.0 if self._measurer.simulated is not None else self._bookkeeping,
        }
        total = self.elapsed
        both = min(busy["build"], max(0.0, sum(busy.values()) - total))
        busy["build"] -= both
        return {**busy, "idle": max(0.0, total - sum(busy.values())), "total": total}
