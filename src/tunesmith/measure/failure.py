"""How trials and processes fail: outcome classes, and messages of one line."""

from __future__ import annotations

import contextlib
import math
import signal
import statistics
from dataclasses import dataclass

from tunesmith.errors import describe as describe  # noqa: PLC0414 - for those who have it from here
from tunesmith.errors import one_line as one_line  # noqa: PLC0414
from tunesmith.measurement import Outcome

_NO_MEMORY = ("bad_alloc", "out of memory", "cannot allocate", "unable to allocate")


class FailedTrialError(Exception):
    """Ends a trial, with its class and a message."""

    def __init__(self, outcome: Outcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


@dataclass(frozen=True)
class Verdict:
    """How a trial ended. ``run_seconds`` as in ``Measurement``."""

    outcome: Outcome
    message: str = ""
    run_seconds: tuple[float, ...] = ()
    cut_off: bool = False

    @property
    def seconds(self) -> float:
        """Median seconds of one call; infinity for a failure."""
        return statistics.median(self.run_seconds) if self.run_seconds else math.inf


def out_of_memory(limit: int) -> str:
    """The message for a trial that hit its memory limit of so many bytes."""
    return f"out of memory (limit {limit >> 20} MiB)"


def tells_no_memory(text: str) -> bool:
    """Whether an error text says that memory ran out."""
    lowered = text.lower()
    return any(sign in lowered for sign in _NO_MEMORY)


def describe_exit(status: int, words: str) -> str:
    """How a process ended: a wait status, and the last line that it printed."""
    code = -(status & 0x7F) if status & 0x7F else status >> 8
    if code >= 0:
        ending = f"it ended the process with exit status {code}"
    else:
        ending = f"killed by {signal_name(-code)}"
    return one_line(f"{ending}: {words}" if words else ending)


def signal_name(number: int) -> str:
    """``SIGSEGV`` and the like."""
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def last_line(output: bytes) -> str:
    """The last line with anything on it, as text."""
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return one_line(lines[-1]) if lines else ""
