"""A program on the device, in a process of its own, and the data that it runs with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.measure.devices.device import BuiltProgram
from tunesmith.measure.processes.channel import Channel, Message
from tunesmith.measure.remote.messages import (
    REFERENCE,
    DeviceJob,
    argument_from_json,
    input_file,
)
from tunesmith.measure.trial.cpu_program import CpuProgram
from tunesmith.measure.trial.execution import Execution, guarded
from tunesmith.measure.trial.prepared import new_output, rehearse
from tunesmith.measure.trial.trial import answer_commands
from tunesmith.measure.trial.verify import find_mismatch, poison_like
from tunesmith.measurement import Outcome
from tunesmith.operators import Argument
from tunesmith.sketches.tir.weights import PREPARE


@dataclass(frozen=True)
class DeviceData:
    """The ``ProgramData`` of a job, in ``folder``, where prepared weights are kept, too."""

    job: DeviceJob
    folder: Path
    inputs: list[Any]
    reference: npt.NDArray[Any] | None
    poison: npt.NDArray[Any] | None

    @classmethod
    def read(cls, job: DeviceJob, folder: Path) -> DeviceData:
        """The data that were uploaded to a folder. No kernel runs here: trials are forked."""
        import tvm

        reference = _array(folder / REFERENCE, job.result) if job.verified else None
        data = cls(
            job=job,
            folder=folder,
            inputs=[
                tvm.runtime.tensor(_array(folder / input_file(number), argument))
                for number, argument in enumerate(job.inputs)
            ],
            reference=reference,
            poison=None if reference is None else poison_like(reference),
        )
        rehearse()
        data.mismatch(data.new_output().numpy())
        return data

    def new_output(self) -> Any:
        return new_output(self.job.result, self.poison)

    def mismatch(self, output: npt.NDArray[Any]) -> str | None:
        if self.reference is None:
            return None
        return find_mismatch(output, self.reference, *self.job.tolerance)


def run_device_trial(data: DeviceData, program: Mapping[str, Any], channel: Channel) -> None:
    """Load a program, then execute commands until this process is killed.

    ``program`` is its ``code``, see ``CrossDevice``. Raises ``ChannelClosedError`` when the session
    is gone.
    """
    settings = data.job.settings

    def loaded() -> Callable[[Message], Message]:
        made = guarded(Outcome.RUNTIME_DEVICE, lambda: _load(data, program), settings.memory_limit)
        return Execution(made, settings).execute

    answer_commands(channel, loaded)


def _load(data: DeviceData, program: Mapping[str, Any]) -> CpuProgram:
    import tvm

    module = tvm.runtime.load_module(str(data.folder / str(program["library"])))
    if program["weights"] is None:
        return CpuProgram(data, BuiltProgram(module, module["main"]), None)
    weights, file = argument_from_json(program["weights"]), data.folder / str(program["prepare"])
    prepare = None if file.exists() else module[PREPARE]
    return CpuProgram(data, BuiltProgram(module, module["main"], prepare, weights), file)


def _array(file: Path, argument: Argument) -> npt.NDArray[Any]:
    return np.fromfile(file, argument.numpy_dtype).reshape(argument.shape)
