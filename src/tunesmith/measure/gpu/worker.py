"""The worker process of a GPU, which has our only context on it and runs built programs.

It is forked from the server, like a trial. It ends after the first error that leaves the context
unusable, and the server replaces it.
"""

from __future__ import annotations

import math

from tunesmith.cuda.clocks import Clocks
from tunesmith.cuda.devices import gpus
from tunesmith.cuda.driver import OUT_OF_MEMORY, CudaError, driver
from tunesmith.cuda.gpu import Gpu
from tunesmith.errors import TunesmithError, describe, one_line
from tunesmith.measure.failure import FailedTrialError
from tunesmith.measure.gpu.program import GpuData, LoadedGpuProgram
from tunesmith.measure.processes.channel import Channel, ChannelClosedError, Message
from tunesmith.measure.trial.execution import Execution, guarded
from tunesmith.measure.trial.prepared import Prepared
from tunesmith.measurement import Outcome


def run_worker(prepared: Prepared, channel: Channel, gpu: int) -> None:
    """Take the GPU, report it, then execute the server's commands until the context is unusable.

    Raises ``ChannelClosedError`` when the server is gone.
    """
    try:
        _work(prepared, channel, gpu)
    except ChannelClosedError:
        raise
    except BaseException as error:
        channel.send({"kind": "refused", "message": describe(error)})


def _work(prepared: Prepared, channel: Channel, index: int) -> None:
    worker = _Worker(prepared, index)
    first, *_ = known = gpus()
    same_model = [gpu.index for gpu in known if gpu.name == first.name]
    channel.send({"kind": "ready", "gpus": same_model})
    while True:
        channel.wait()
        for command in channel.receive():
            if command["kind"] == "forget":
                worker.forget(command["id"])
            else:
                channel.send(worker.execute(command))
            if worker.broken:
                return


class _Worker:
    """A GPU with a job's data, and the programs loaded on it.

    Raises ``TunesmithError`` if the GPU cannot be used for the job.
    """

    def __init__(self, prepared: Prepared, index: int) -> None:
        self._settings = prepared.job.settings
        self.broken = False
        try:
            self._gpu = Gpu(driver(), index)
            self._data = GpuData(self._gpu, prepared)
        except CudaError as error:
            reason = (
                f"GPU {index} cannot be used: {error.reason}; CUDA_VISIBLE_DEVICES chooses another"
            )
            if error.code == OUT_OF_MEMORY:
                reason = (
                    f"GPU {index} has too little free memory for the operator's data: end other "
                    "programs on it, choose another one by CUDA_VISIBLE_DEVICES, or take a smaller "
                    "operator"
                )
            raise TunesmithError(reason) from error
        self._clocks = Clocks(self._gpu.info.bus)
        self._loaded: dict[int, tuple[LoadedGpuProgram, Execution]] = {}

    def execute(self, command: Message) -> Message:
        """Execute a command of the server, and return the answer.

        A program that is not loaded (any more, or only in an earlier worker) is loaded first.
        """
        id = command["id"]
        try:
            if id not in self._loaded:
                self._loaded[id] = self._load(command)
            answer = self._loaded[id][1].execute(command)
            state = self._clocks.read()
            return {**answer, "id": id, "state": None if state is None else state.to_json()}
        except FailedTrialError as failure:
            cause = failure.__cause__
            self.broken = isinstance(cause, CudaError) and cause.sticky
            answer = {"kind": "failed", "outcome": failure.outcome.value, "broken": self.broken}
            return {**answer, "id": id, "message": one_line(str(failure))}

    def _load(self, command: Message) -> tuple[LoadedGpuProgram, Execution]:
        limit = self._settings.memory_limit
        program = guarded(
            Outcome.RUNTIME_DEVICE, lambda: LoadedGpuProgram(self._data, command["code"]), limit
        )
        execution = Execution(program, self._settings)
        if command["kind"] == "run again":
            try:
                execution.run(math.inf)
            except FailedTrialError:
                program.close()
                raise
        return program, execution

    def forget(self, id: int) -> None:
        """Unload a program, if it is loaded."""
        loaded = self._loaded.pop(id, None)
        if loaded is not None:
            try:
                loaded[0].close()
            except CudaError:
                self.broken = True  # which program is at fault is unknown
