"""One trial, in its own process: make the program, build it, and on command run and time it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from tunesmith import arrays
from tunesmith.errors import InstantiationError
from tunesmith.measure import timing
from tunesmith.measure.channel import Channel, ChannelClosedError, Message
from tunesmith.measure.device import DeviceCodeError
from tunesmith.measure.failure import describe, one_line, out_of_memory, tells_no_memory
from tunesmith.measure.prepared import Prepared
from tunesmith.measure.verify import find_mismatch
from tunesmith.measurement import Outcome
from tunesmith.sketches.weights import WEIGHT, prepared_weights, with_weights
from tunesmith.space import Config

T = TypeVar("T")


class FailedTrialError(Exception):
    """Ends the trial, with its class and a message."""

    def __init__(self, outcome: Outcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


def run_trial(prepared: Prepared, channel: Channel, config: dict[str, Any]) -> NoReturn:
    """Build, say so, then obey the server until it closes the channel or kills this process."""
    try:
        _answer(prepared, channel, config)
    except ChannelClosedError:
        pass
    finally:
        os._exit(0)


def _answer(prepared: Prepared, channel: Channel, config: dict[str, Any]) -> None:
    try:
        trial = Trial(prepared, Config.from_json(config))
        built = {"program_hash": trial.program_hash, "resources": trial.resources}
        channel.send({"kind": "built", **built})
        while True:
            channel.wait()
            for command in channel.receive():
                channel.send(trial.obey(command))
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
    """A built program. Making one builds it; raises ``FailedTrialError``.

    ``resources`` is what it takes of the device, as JSON, where the compiler tells.
    """

    def __init__(self, prepared: Prepared, config: Config) -> None:
        self._prepared = prepared
        self._limit = prepared.job.settings.memory_limit
        program = self._instantiate(config)
        self.program_hash = _hash(program)
        self._weights = prepared_weights(program)
        built = self._guard(
            Outcome.COMPILE_HOST, lambda: prepared.device.build(program, prepared.target)
        )
        self._module, self._main, self._prepare = built.module, built.main, built.prepare
        self.resources = built.resources
        self._arguments: list[Any] = []
        self._calls = 1

    def obey(self, command: Message) -> Message:
        """Do what the server commands and return the answer. Raises ``FailedTrialError``."""
        if command["kind"] == "run again":
            return {"kind": "ran again", "run_seconds": self._repeat(1)}
        run_seconds, cut_off = self._run(command["cut_off_seconds"])
        return {"kind": "ran", "run_seconds": run_seconds, "cut_off": cut_off}

    def _run(self, cut_off_seconds: float) -> tuple[list[float], bool]:
        """Run the program for the first time, check its output, and time it."""
        settings = self._prepared.job.settings
        start = time.perf_counter()
        first = self._first_call()
        self._verify()
        seconds = self._guard(
            Outcome.RUNTIME_DEVICE,
            lambda: timing.estimate(self._call, self._time_calls, first, cut_off_seconds),
        )
        self._calls = timing.calls_a_repeat(seconds, settings.min_repeat_time)
        # One figure of a slow program is worth more than a run that times out.
        spent = time.perf_counter() - start
        needed = (1 + settings.repeats * self._calls) * seconds
        if seconds > cut_off_seconds or spent + needed > settings.run_timeout:
            return [seconds], True
        affordable = spent + needed * timing.MOST_SERIES <= settings.run_timeout / 2
        return timing.until_steady(
            lambda: self._repeat(settings.repeats),
            timing.MOST_SERIES if affordable else 1,
            best=cut_off_seconds / settings.cut_off,
        ), False

    def _instantiate(self, config: Config) -> Any:
        from tvm.s_tir.schedule.schedule import ScheduleError

        job = self._prepared.job
        try:
            return job.sketch.program(job.operator, job.target, config)
        except (InstantiationError, ScheduleError) as error:
            raise FailedTrialError(Outcome.INSTANTIATION_ERROR, describe(error)) from error
        except MemoryError as error:
            message = out_of_memory(self._limit)
            raise FailedTrialError(Outcome.COMPILE_HOST, message) from error

    def _first_call(self) -> float:
        """Seconds of the first call of ``main``; what comes before it is done once, untimed."""
        inputs = self._guard(Outcome.RUNTIME_DEVICE, self._inputs)
        self._arguments = [*inputs, self._prepared.new_output()]
        return self._guard(Outcome.RUNTIME_DEVICE, lambda: timing.seconds_of(self._call))

    def _inputs(self) -> list[Any]:
        """What ``main`` reads: the job's inputs, with constant weights as they were laid out."""
        inputs = self._prepared.inputs
        if self._prepare is None or self._weights is None:
            return inputs
        # What the program leaves unset there must not matter, whatever the memory held before.
        laid_out = arrays.poisoned_tensor(self._weights)
        self._prepare(inputs[WEIGHT], laid_out)
        return with_weights(inputs, laid_out)

    def _call(self) -> None:
        self._main(*self._arguments)

    def _time_calls(self, calls: int) -> float:
        return timing.time_repeats(self._module, self._arguments, calls, 1, flush_cache=False)[0]

    def _verify(self) -> None:
        prepared = self._prepared
        if prepared.reference is None:
            return
        relative, absolute = prepared.job.operator.tolerance
        output = self._arguments[-1].numpy()
        mismatch = find_mismatch(output, prepared.reference, relative, absolute)
        if mismatch is not None:
            raise FailedTrialError(Outcome.WRONG_ANSWER, mismatch)

    def _repeat(self, repeats: int) -> list[float]:
        flush = self._prepared.job.settings.flush_cache
        return self._guard(
            Outcome.RUNTIME_DEVICE,
            lambda: timing.time_repeats(self._module, self._arguments, self._calls, repeats, flush),
        )

    def _guard(self, outcome: Outcome, step: Callable[[], T]) -> T:
        """The result of a step whose exceptions mean ``outcome``."""
        try:
            return step()
        except DeviceCodeError as error:
            raise FailedTrialError(Outcome.COMPILE_DEVICE, describe(error)) from error
        except BaseException as error:
            message = describe(error)
            if isinstance(error, MemoryError) or tells_no_memory(message):
                message = out_of_memory(self._limit)
            raise FailedTrialError(outcome, message) from error


def _hash(program: Any) -> str:
    """TVM's structural hash: 16 digits, the same in every process."""
    import tvm_ffi

    return f"{tvm_ffi.structural_hash(program) & 0xFFFFFFFFFFFFFFFF:016x}"
