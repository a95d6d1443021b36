"""Runs a built program: once to verify it, then to time it.

This is the same for all devices; the device-dependent part is a ``LoadedProgram``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from tunesmith.errors import TunesmithError, describe
from tunesmith.measure.devices.device import DeviceCodeError
from tunesmith.measure.failure import FailedTrialError, out_of_memory, tells_no_memory
from tunesmith.measure.processes.channel import Message
from tunesmith.measure.trial import timing
from tunesmith.measurement import Outcome
from tunesmith.problem import MeasureSettings

T = TypeVar("T")


class LoadedProgram(Protocol):
    """A program that can be called, with its inputs and an output."""

    def call(self) -> None:
        """Call it once, and wait for its end."""
        ...

    def mismatch(self) -> str | None:
        """What is wrong with its output in one line; None if it is right or not verified."""
        ...

    def late_mismatch(self) -> str | None:
        """The same for another call after all timed ones; None if that is not verified."""
        ...

    def estimate(self, first: float, hopeless: float) -> float:
        """The estimated seconds of a call; see ``timing.estimate``."""
        ...

    def seconds(self, calls: int, repeats: int, flush_cache: bool) -> list[float]:
        """Mean seconds of a call, one figure for each repeat of ``calls`` calls."""
        ...


class Execution:
    """The runs of one program. Its methods raise ``FailedTrialError``."""

    def __init__(self, program: LoadedProgram, settings: MeasureSettings) -> None:
        self._program = program
        self._settings = settings
        self._calls = 1

    def execute(self, command: Message) -> Message:
        """Execute a command of the server, and return the answer."""
        if command["kind"] == "run again":
            return {"kind": "ran again", "run_seconds": self.repeat(1)}
        run_seconds, cut_off = self.run(command["cut_off_seconds"])
        return {"kind": "ran", "run_seconds": run_seconds, "cut_off": cut_off}

    def run(self, cut_off_seconds: float) -> tuple[list[float], bool]:
        """Run the program for the first time, verify its output, and time it.

        Returns the seconds of a call, one figure per repeat, and whether it was cut off: measured
        only once because it is slow.
        """
        settings, program = self._settings, self._program
        start = time.perf_counter()
        first = self._guard(lambda: timing.seconds_of(program.call))
        self._judge(self._guard(program.mismatch))
        seconds = self._guard(lambda: program.estimate(first, cut_off_seconds))
        self._calls = timing.calls_a_repeat(seconds, settings.min_repeat_time)
        # A single figure of a slow program is better than a timeout.
        spent = time.perf_counter() - start
        needed = (1 + settings.repeats * self._calls) * seconds
        if seconds > cut_off_seconds or spent + needed > settings.run_timeout:
            return [seconds], True
        affordable = spent + needed * timing.MOST_SERIES <= settings.run_timeout / 2
        figures = timing.until_steady(
            lambda: self.repeat(settings.repeats),
            timing.MOST_SERIES if affordable else 1,
            best=cut_off_seconds / settings.cut_off,
        )
        self._judge(self._guard(program.late_mismatch))
        return figures, False

    def _judge(self, mismatch: str | None) -> None:
        if mismatch is not None:
            raise FailedTrialError(Outcome.WRONG_ANSWER, mismatch)

    def repeat(self, repeats: int) -> list[float]:
        """Further repeats, with the number of calls that the first run determined."""
        flush = self._settings.flush_cache
        return self._guard(lambda: self._program.seconds(self._calls, repeats, flush))

    def _guard(self, step: Callable[[], T]) -> T:
        return guarded(Outcome.RUNTIME_DEVICE, step, self._settings.memory_limit)


def guarded(outcome: Outcome, step: Callable[[], T], memory_limit: int) -> T:
    """The result of a step of a trial; its exceptions become a ``FailedTrialError``.

    Its outcome is ``outcome``, or ``COMPILE_DEVICE`` for a ``DeviceCodeError``. Its message says so
    if memory ran out.
    """
    try:
        return step()
    except DeviceCodeError as error:
        raise FailedTrialError(Outcome.COMPILE_DEVICE, describe(error)) from error
    except BaseException as error:
        message = describe(error)
        ours = isinstance(error, TunesmithError)  # its message already names the memory
        if isinstance(error, MemoryError) or (tells_no_memory(message) and not ours):
            message = out_of_memory(memory_limit)
        raise FailedTrialError(outcome, message) from error
