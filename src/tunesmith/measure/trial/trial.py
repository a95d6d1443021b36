"""A trial in its own process: instantiates and builds a program, and runs it on command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tunesmith.compiler.program_hash import program_hash
from tunesmith.errors import InstantiationError, describe, one_line
from tunesmith.measure.devices.device import Build
from tunesmith.measure.failure import FailedTrialError, out_of_memory
from tunesmith.measure.processes.channel import Channel, ChannelClosedError, Message
from tunesmith.measure.trial.cpu_program import CpuProgram
from tunesmith.measure.trial.execution import Execution, guarded
from tunesmith.measure.trial.prepared import Prepared
from tunesmith.measure.trial.request import Request
from tunesmith.measurement import Candidate, Outcome
from tunesmith.sketches.tir.weights import PREPARE, prepared_weights


def run_trial(prepared: Prepared, channel: Channel, request: Request) -> None:
    """Build, then execute the server's commands until it kills this process.

    Raises ``ChannelClosedError`` when the server is gone.
    """

    def built() -> Callable[[Message], Message]:
        trial = Trial(prepared, request, channel.send)
        built = trial.built
        channel.send({"kind": "built", "resources": built.resources, "code": built.code})
        return trial.execute

    answer_commands(channel, built)


def answer_commands(channel: Channel, make: Callable[[], Callable[[Message], Message]]) -> None:
    """Make what executes commands, and then answer them until the sender kills this process.

    An exception is reported as the failure of the trial. Raises ``ChannelClosedError`` when the
    sender is gone.
    """
    try:
        execute = make()
        while True:
            channel.wait()
            for command in channel.receive():
                channel.send(execute(command))
    except ChannelClosedError:
        raise
    except FailedTrialError as failure:
        _report(channel, failure.outcome, str(failure))
    except BaseException as error:
        _report(channel, Outcome.UNKNOWN_ERROR, describe(error))


def _report(channel: Channel, outcome: Outcome, message: str) -> None:
    channel.send({"kind": "failed", "outcome": outcome.value, "message": one_line(message)})
    channel.wait()  # for the server to kill this process


class Trial:
    """A built program. The constructor builds it; raises ``FailedTrialError``.

    ``send`` reports the program's hash before the build: the server may know its result.
    """

    def __init__(
        self, prepared: Prepared, request: Request, send: Callable[[Message], None]
    ) -> None:
        self._prepared = prepared
        self._limit = prepared.job.settings.memory_limit
        program = self._instantiate(request.candidate)
        digest = program_hash(program)
        send({"kind": "instantiated", "program_hash": digest})
        self._weights = None
        if prepared_weights(program) is not None:
            self._weights = prepared.weight_cache / program_hash(program[PREPARE])
        library = Path(request.library) if request.library else None
        build = Build(program, prepared.target, digest, self._weights, library)
        self.built = guarded(
            Outcome.COMPILE_HOST, lambda: prepared.device.build(build), self._limit
        )
        self._execution: Execution | None = None

    def execute(self, command: Message) -> Message:
        """Execute a command of the server, and return the answer. Raises ``FailedTrialError``."""
        if self._execution is None:
            program = guarded(
                Outcome.RUNTIME_DEVICE,
                lambda: CpuProgram(self._prepared, self.built, self._weights),
                self._limit,
            )
            self._execution = Execution(program, self._prepared.job.settings)
        return self._execution.execute(command)

    def _instantiate(self, candidate: Candidate) -> Any:
        from tvm.s_tir.schedule.schedule import ScheduleError

        try:
            return self._prepared.job.program(candidate)
        except (InstantiationError, ScheduleError) as error:
            raise FailedTrialError(Outcome.INSTANTIATION_ERROR, describe(error)) from error
        except MemoryError as error:
            message = out_of_memory(self._limit)
            raise FailedTrialError(Outcome.COMPILE_HOST, message) from error
