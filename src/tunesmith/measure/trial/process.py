"""The server's side of a trial: a child process to command, pause, watch and end."""

from __future__ import annotations

import contextlib
import math
import signal
import time
from typing import Any

from tunesmith.errors import one_line
from tunesmith.measure.failure import Verdict
from tunesmith.measure.processes.channel import ChannelClosedError, GarbledError, Message
from tunesmith.measure.processes.child import Child, Exit
from tunesmith.measure.processes.stopwatch import Stopwatch
from tunesmith.measure.trial.prepared import Prepared
from tunesmith.measure.trial.request import Phase, Request
from tunesmith.measure.trial.trial import run_trial
from tunesmith.measurement import DeviceState, Measurement, Outcome

_GARBAGE = Verdict(Outcome.UNKNOWN_ERROR, "the trial's process sent garbage to the server")


class TrialProcess:
    """A trial in a forked child, which starts to build at once. See ``Child`` on forking.

    ``verdict`` is None until the trial is decided. ``handle`` becomes readable when the child has
    ended, and is closed by ``reap``. ``own_memory`` is the server's memory in bytes. Raises
    ``OSError`` if the system cannot create a process.
    """

    def __init__(self, request: Request, prepared: Prepared, own_memory: int) -> None:
        self.request = request
        self.phase = Phase.BUILD
        self.verdict: Verdict | None = None
        self.program_hash = ""
        self.resources: dict[str, float | None] | None = None
        self.code: dict[str, Any] | None = None
        self.device_state: DeviceState | None = None
        self.ready_since = 0.0
        self.rounds_run: list[float] = []
        self._settings = prepared.job.settings
        self._own_memory = own_memory
        self._spent = dict.fromkeys(Phase, 0.0)
        self._watch = Stopwatch()
        limit, threads = self._settings.memory_limit, prepared.job.target.core_count
        self._candidate = request.candidate
        # Before the fork: on busy cores the child may be far when this process goes on.
        self._watch.start()
        self._child = Child(lambda end: run_trial(prepared, end, request), limit, threads)
        self.pid, self.handle = self._child.pid, self._child.handle
        self.channel = self._child.channel

    # -- commands --------------------------------------------------------------------------------

    def run(self, cut_off_seconds: float) -> None:
        """Run for the first time; only once if a call takes more than ``cut_off_seconds``."""
        self._command({"kind": "run", "cut_off_seconds": cut_off_seconds})

    def run_again(self) -> None:
        """Run one more repeat."""
        self._command({"kind": "run again"})

    def pause(self) -> None:
        """Stop all threads of the child, and its clock."""
        self._watch.stop()
        self._child.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue after a pause."""
        self._watch.start()
        self._child.signal(signal.SIGCONT)

    def decide(self, verdict: Verdict) -> None:
        """End the trial with this verdict, unless it already has one."""
        if self.verdict is None:
            self.verdict = verdict
            self.kill()

    def cancel(self, verdict: Verdict) -> None:
        """End a trial whose result is no longer needed."""
        self.decide(verdict)

    def kill(self) -> None:
        """Kill the child's process group."""
        self._child.kill()

    def _command(self, command: Message) -> None:
        self.phase = Phase.RUN
        self.resume()
        with contextlib.suppress(ChannelClosedError):  # the child is dying: ``handle`` will tell
            self._send(command)

    def _send(self, command: Message) -> None:
        """Send a command to the process that runs the program."""
        self.channel.send(command)

    # -- results ---------------------------------------------------------------------------------

    def receive(self) -> None:
        """Handle the child's messages."""
        try:
            for message in self.channel.receive():
                self.take(message)
        except ChannelClosedError:
            self.kill()  # it has died, or closed its end and is useless
        except GarbledError:
            self.decide(_GARBAGE)

    def take(self, message: Message) -> None:
        """Handle a message of the process that builds or runs the program."""
        try:
            self._take(message)
        except (AttributeError, KeyError, TypeError, ValueError):
            self.decide(_GARBAGE)

    def _take(self, message: Message) -> None:
        match message["kind"], self.phase:
            case "failed", _:
                self.decide(_failure(message))
            case "instantiated", Phase.BUILD:
                self.program_hash = str(message["program_hash"])
            case "built", Phase.BUILD:
                self.resources = _resources(message)
                self.code = message["code"]
                if self.request.build_only:
                    self.decide(Verdict(Outcome.NO_ERROR))
                else:
                    self._get_ready()
            case "ran" | "ran again", Phase.RUN:
                state = message.get("state")
                self.device_state = None if state is None else DeviceState(**state)
                self._take_times(message)
            case _:
                self.decide(_GARBAGE)

    def _take_times(self, message: Message) -> None:
        match message["kind"]:
            case "ran" if self.request.rounds:
                self._rest()  # this run was only to verify and to warm up
            case "ran":
                figures = _figures(message)
                self.decide(Verdict(Outcome.NO_ERROR, "", figures, bool(message["cut_off"])))
            case _:
                self.rounds_run += _figures(message)
                if len(self.rounds_run) < self.request.rounds:
                    self._rest()
                else:
                    self.decide(Verdict(Outcome.NO_ERROR, "", tuple(self.rounds_run)))

    def _get_ready(self) -> None:
        self._enter(Phase.READY)
        self.ready_since = time.monotonic()

    def _rest(self) -> None:
        self._enter(Phase.RESTING)
        self.pause()  # TVM's threads spin for a while, and would disturb the next trial

    def _enter(self, phase: Phase) -> None:
        self._spent[self.phase] += self._watch.reset()
        self.phase = phase

    @property
    def time_left(self) -> float:
        """Seconds until the timeout of this phase; infinity if none applies."""
        if self.verdict is not None or not self._watch.running:
            return math.inf
        return self._timeout - self._watch.seconds

    @property
    def _timeout(self) -> float:
        building = self.phase is Phase.BUILD
        return self._settings.build_timeout if building else self._settings.run_timeout

    def time_out(self) -> None:
        """End the trial because of its timeout."""
        building = self.phase is Phase.BUILD
        outcome = Outcome.BUILD_TIMEOUT if building else Outcome.RUN_TIMEOUT
        self.decide(Verdict(outcome, f"not done after {self._timeout:g} s"))

    def reap(self) -> Verdict:
        """Free the resources of the child, which has ended (see ``handle``)."""
        self.receive()  # its last messages
        ended = self._child.reap()
        self._enter(self.phase)
        if self.verdict is None:
            self.verdict = self._judge(ended)
        return self.verdict

    def _judge(self, ended: Exit) -> Verdict:
        """The verdict on a child that died by itself."""
        building = self.phase is Phase.BUILD
        outcome = Outcome.COMPILE_HOST if building else Outcome.RUNTIME_DEVICE
        return ended.verdict(outcome, self._settings.memory_limit, self._own_memory)

    def result(self) -> dict[str, Any]:
        """The measurement for the client, as JSON, once the trial is decided."""
        verdict = self.verdict
        assert verdict is not None
        measurement = Measurement(
            config=self._candidate.config,
            outcome=verdict.outcome,
            run_seconds=verdict.run_seconds,
            build_time=self._spent[Phase.BUILD],
            run_time=self._spent[Phase.RUN],
            message=verdict.message,
            program_hash=self.program_hash,
            cut_off=verdict.cut_off,
            device_state=self.device_state,
        )
        return {"id": self.request.id, "resources": self.resources, **measurement.to_json()}


def _failure(message: Message) -> Verdict:
    """The verdict of a message. Raises ``ValueError`` if it is invalid."""
    outcome = Outcome(message["outcome"])
    if outcome is Outcome.NO_ERROR:
        raise ValueError
    return Verdict(outcome, one_line(str(message["message"])))


def _figures(message: Message) -> tuple[float, ...]:
    """The times of a message. Raises ``ValueError`` if they are invalid."""
    figures = tuple(float(figure) for figure in message["run_seconds"])
    if not figures or not all(0.0 < figure < math.inf for figure in figures):
        raise ValueError
    return figures


def _resources(message: Message) -> dict[str, float | None] | None:
    """The resources of a message. Raises ``ValueError`` if they are invalid."""
    used = message["resources"]
    if used is None:
        return None
    return {str(name): None if figure is None else float(figure) for name, figure in used.items()}
