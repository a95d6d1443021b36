"""A config of a sketch on a GPU, timed for as long as one likes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from tunesmith.bench.timing.gpu_time import calls_of
from tunesmith.cuda.gpu import Gpu
from tunesmith.errors import TunesmithError
from tunesmith.measure.devices.device import Build
from tunesmith.measure.gpu.program import GpuData, LoadedGpuProgram
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measure.trial.prepared import Prepared
from tunesmith.measure.trial.verify import find_mismatch
from tunesmith.operators import operator_from_json
from tunesmith.problem import MeasureSettings
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.task import Task


class GpuKernel:
    """What ``kernel_side_of`` describes, with the ``program_hash`` by which its code was kept.

    ``close`` lets go of all that it has on the GPU. Raises ``TunesmithError`` if it cannot be built
    or does not run, or if its output is wrong.
    """

    def __init__(self, gpu: Gpu, described: Mapping[str, Any]) -> None:
        operator = operator_from_json(described["operator"])
        problem = TaskProblem.of(Task(operator, Target(**described["target"])), described["sketch"])
        # Verified below: of one call, that is faster than to prepare for many.
        settings = MeasureSettings(verify=False)
        prepared = Prepared.of(problem.job(settings))
        program = problem.program(Config.from_json(described["config"]))
        built = prepared.device.build(Build(program, prepared.target, described["program_hash"]))
        assert built.code is not None
        self._data = GpuData(gpu, prepared)
        self._program = LoadedGpuProgram(self._data, built.code)
        self._program.call()
        output = self._data.read_output()
        reference = operator.reference(*operator.make_inputs(seed=0))
        wrong = find_mismatch(output, reference, *operator.tolerance)
        if wrong is not None:
            raise TunesmithError(f"the output is wrong: {wrong}")

    def seconds(self, duration: float) -> float:
        """Mean seconds of a call in a round of about ``duration``: the second time, when the GPU is
        at work."""
        return self._program.seconds(calls_of(duration, self._once), 2, False)[-1]

    @cached_property
    def _once(self) -> float:
        """Seconds of a call; asked for when the other side stands still."""
        return self._program.seconds(1, 2, False)[-1]

    def close(self) -> None:
        """Leave the GPU as it was."""
        self._program.close()
        self._data.close()
