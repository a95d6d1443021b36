"""A trial as the server sees it: a child process to command, pause, watch and end."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import sys
import time
from typing import Any, NoReturn

from tunesmith.measure.channel import Channel, ChannelClosedError, GarbledError, Message
from tunesmith.measure.containment import contain
from tunesmith.measure.failure import (
    Verdict,
    describe,
    describe_death,
    last_line,
    one_line,
    out_of_memory,
    tells_no_memory,
)
from tunesmith.measure.order import Order, Phase
from tunesmith.measure.prepared import Prepared
from tunesmith.measure.stopwatch import Stopwatch
from tunesmith.measure.trial import run_trial
from tunesmith.measurement import Outcome

# A message of a trial is short: more bytes without an end are none.
_LONGEST_MESSAGE = 1 << 20

# What a pipe holds: all that is kept of what a trial prints.
_PRINTED = 1 << 16

# A trial that dies with this share of its memory limit in use has died of it.
_NEARLY_ALL = 0.9

_GARBAGE = Verdict(Outcome.UNKNOWN_ERROR, "the trial's process sent garbage to the server")


class TrialProcess:
    """A forked child, which builds at once. Forking needs a single thread and no kernel ever run.

    ``verdict`` is None until the trial is decided. ``handle`` becomes readable when the child has
    ended; it is gone after ``reap``. ``own_memory`` is what the server itself has allocated, in
    bytes. Raises ``OSError`` if the system does not let a process be made.
    """

    def __init__(self, order: Order, prepared: Prepared, own_memory: int) -> None:
        self.order = order
        self.phase = Phase.BUILD
        self.verdict: Verdict | None = None
        self.program_hash = ""
        self.resources: dict[str, float | None] | None = None
        self.ready_since = 0.0
        self.rounds_run: list[float] = []
        self._settings = prepared.job.settings
        self._own_memory = own_memory
        self._spent = dict.fromkeys(Phase, 0.0)
        self._watch = Stopwatch()
        self._fork(prepared)
        self._watch.start()

    def _fork(self, prepared: Prepared) -> None:
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
                self._be_the_child(prepared, server, theirs, errors)
        with contextlib.suppress(OSError):  # the child does so too: whoever comes first
            os.setpgid(self.pid, self.pid)
        self._printed = printed
        self.channel = Channel(ours, _LONGEST_MESSAGE)
        self.handle = os.pidfd_open(self.pid)

    def _be_the_child(
        self, prepared: Prepared, server: int, end: socket.socket, errors: int
    ) -> NoReturn:
        try:
            limit, threads = self._settings.memory_limit, prepared.job.target.core_count
            contain(server, end.fileno(), errors, limit, threads)
            run_trial(prepared, Channel(end), self.order.config)
        except BaseException as error:
            print(describe(error), file=sys.stderr, flush=True)
        finally:
            os._exit(1)

    # -- commands --------------------------------------------------------------------------------

    def run(self, cut_off_seconds: float) -> None:
        """Run for the first time, only briefly if a call takes more than ``cut_off_seconds``."""
        self._command({"kind": "run", "cut_off_seconds": cut_off_seconds})

    def run_again(self) -> None:
        """Run for one more repeat."""
        self._command({"kind": "run again"})

    def pause(self) -> None:
        """Stand still with all threads, and so does the clock."""
        self._watch.stop()
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Go on after a pause."""
        self._watch.start()
        self._signal(signal.SIGCONT)

    def decide(self, verdict: Verdict) -> None:
        """End the trial with this verdict, unless it has one."""
        self.verdict = self.verdict or verdict
        self.kill()

    def kill(self) -> None:
        """Kill the child with all its descendants that did not leave its group."""
        self._signal(signal.SIGKILL)

    def _command(self, command: Message) -> None:
        self.phase = Phase.RUN
        self.resume()
        with contextlib.suppress(ChannelClosedError):  # it is dying then, which shows by itself
            self.channel.send(command)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    # -- what comes of it ------------------------------------------------------------------------

    def receive(self) -> None:
        """Take over what the child says."""
        try:
            for message in self.channel.receive():
                self._take(message)
        except ChannelClosedError:
            self.kill()  # it has died, or it has closed its side and is of no use any more
        except (AttributeError, GarbledError, KeyError, TypeError, ValueError):
            self.decide(_GARBAGE)

    def _take(self, message: Message) -> None:
        match message["kind"], self.phase:
            case "failed", _:
                self.decide(_failure(message))
            case "built", Phase.BUILD:
                self.program_hash = str(message["program_hash"])
                self.resources = _resources(message)
                if self.order.build_only:
                    self.decide(Verdict(Outcome.NO_ERROR))
                else:
                    self._enter(Phase.READY)
                    self.ready_since = time.monotonic()
            case "ran", Phase.RUN if self.order.rounds:
                self._rest()  # it was only to verify and to warm up
            case "ran", Phase.RUN:
                figures = _figures(message)
                self.decide(Verdict(Outcome.NO_ERROR, "", figures, bool(message["cut_off"])))
            case "ran again", Phase.RUN:
                self.rounds_run += _figures(message)
                if len(self.rounds_run) < self.order.rounds:
                    self._rest()
                else:
                    self.decide(Verdict(Outcome.NO_ERROR, "", tuple(self.rounds_run)))
            case _:
                self.decide(_GARBAGE)

    def _rest(self) -> None:
        self._enter(Phase.RESTING)
        self.pause()  # TVM's threads spin on for a while, and would disturb the next

    def _enter(self, phase: Phase) -> None:
        self._spent[self.phase] += self._watch.reset()
        self.phase = phase

    @property
    def time_left(self) -> float:
        """Seconds until the time of this phase is up; infinity where none runs."""
        if self.verdict is not None or not self._watch.running:
            return math.inf
        return self._timeout - self._watch.seconds

    @property
    def _timeout(self) -> float:
        building = self.phase is Phase.BUILD
        return self._settings.build_timeout if building else self._settings.run_timeout

    def time_out(self) -> None:
        """End the trial because its time is up."""
        building = self.phase is Phase.BUILD
        outcome = Outcome.BUILD_TIMEOUT if building else Outcome.RUN_TIMEOUT
        self.decide(Verdict(outcome, f"not done after {self._timeout:g} s"))

    def reap(self) -> Verdict:
        """The child has ended, as ``handle`` tells: let go of all that is left of it."""
        self.receive()  # its last words, if it had any
        self.kill()  # the rest of its group, which has this id only until the child is reaped
        _, status, usage = os.wait4(self.pid, 0)
        self._enter(self.phase)
        if self.verdict is None:
            self.verdict = self._judge(status, usage.ru_maxrss << 10)
        self.channel.close()
        os.close(self._printed)
        os.close(self.handle)
        return self.verdict

    def _judge(self, status: int, memory: int) -> Verdict:
        """The verdict on a child that died: its wait status, and the most memory it had."""
        building = self.phase is Phase.BUILD
        outcome = Outcome.COMPILE_HOST if building else Outcome.RUNTIME_DEVICE
        words = self._last_words()
        limit = self._settings.memory_limit
        if memory - self._own_memory > _NEARLY_ALL * limit or tells_no_memory(words):
            return Verdict(outcome, out_of_memory(limit))
        return Verdict(outcome, describe_death(status, words))

    def _last_words(self) -> str:
        with contextlib.suppress(BlockingIOError):
            return last_line(os.read(self._printed, _PRINTED))
        return ""

    def result(self) -> dict[str, Any]:
        """The measurement for the client, as JSON, once the trial is decided."""
        assert self.verdict is not None
        return {
            "id": self.order.id,
            "outcome": self.verdict.outcome.value,
            "message": self.verdict.message,
            "run_seconds": self.verdict.run_seconds,
            "cut_off": self.verdict.cut_off,
            "program_hash": self.program_hash,
            "resources": self.resources,
            "build_time": self._spent[Phase.BUILD],
            "run_time": self._spent[Phase.RUN],
        }


def _failure(message: Message) -> Verdict:
    """The verdict in a message. Raises ``ValueError`` where it is none."""
    outcome = Outcome(message["outcome"])
    if outcome is Outcome.NO_ERROR:
        raise ValueError
    return Verdict(outcome, one_line(str(message["message"])))


def _figures(message: Message) -> tuple[float, ...]:
    """The times in a message. Raises ``ValueError`` where they are none."""
    figures = tuple(float(figure) for figure in message["run_seconds"])
    if not figures or not all(0.0 < figure < math.inf for figure in figures):
        raise ValueError
    return figures


def _resources(message: Message) -> dict[str, float | None] | None:
    """What a program takes of the device. Raises ``ValueError`` where that is something else."""
    told = message["resources"]
    if told is None:
        return None
    return {str(name): None if figure is None else float(figure) for name, figure in told.items()}
