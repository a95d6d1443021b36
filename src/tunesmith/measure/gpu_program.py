"""A program on a GPU, with an operator's inputs there, and a check of its output on the GPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from tunesmith.cuda.gpu import Gpu, GpuProgram
from tunesmith.cuda.lowering import functions_from_json
from tunesmith.measure.gpu_check import GpuCheck
from tunesmith.measure.prepared import Prepared
from tunesmith.sketches.weights import PREPARE, WEIGHT, with_weights

Array = npt.NDArray[Any]

# What memory holds that nothing was written to: NaN in each type of float.
_UNWRITTEN = 0xFF


class GpuData:
    """What all programs of a job share on a GPU: the inputs, and how an output is checked.

    Raises ``CudaError``, of a GPU with too little memory for one.
    """

    def __init__(self, gpu: Gpu, prepared: Prepared) -> None:
        self.gpu = gpu
        self.prepared = prepared
        self.inputs = [gpu.upload(tensor.numpy()) for tensor in prepared.inputs]
        self.blank: Array = prepared.new_output().numpy()
        self.output = gpu.upload(self.blank)
        self._check = None
        if prepared.reference is not None:
            tolerance = prepared.job.operator.tolerance
            self._check = GpuCheck(gpu, self.blank, prepared.reference, tolerance)

    def mismatch(self) -> str | None:
        """What is wrong with the output in one line; None if it is right, or not verified."""
        if self._check is None or self._check.passes(self.output):
            return None
        return self.prepared.mismatch(self.gpu.read(self.output, self.blank))


class LoadedGpuProgram:
    """A ``LoadedProgram``: what comes before the first call of ``main`` is done when it is made.

    ``code`` is that of ``BuiltProgram``. ``close`` lets go of all that it has on the GPU. Raises
    ``CudaError``.
    """

    def __init__(self, data: GpuData, code: Mapping[str, Any]) -> None:
        self._data = data
        gpu = data.gpu
        functions = functions_from_json(code["functions"])
        self._program = GpuProgram(gpu, Path(code["path"]).read_bytes(), functions)
        self._inputs, self._laid_out = data.inputs, None
        if code["weights_bytes"]:
            self._laid_out = gpu.allocate(code["weights_bytes"])
            gpu.fill(self._laid_out, _UNWRITTEN, code["weights_bytes"])
            self._program.call(PREPARE, [data.inputs[WEIGHT], self._laid_out])
            self._inputs = with_weights(data.inputs, self._laid_out)
        gpu.write(data.output, data.blank)

    def call(self) -> None:
        self._program.call("main", self._arguments)
        self._data.gpu.wait()

    def mismatch(self) -> str | None:
        return self._data.mismatch()

    def seconds(self, calls: int, repeats: int, flush_cache: bool) -> list[float]:
        return self._program.seconds("main", self._arguments, calls, repeats, flush_cache)

    @property
    def _arguments(self) -> list[int]:
        return [*self._inputs, self._data.output]

    def close(self) -> None:
        if self._laid_out is not None:
            self._data.gpu.free(self._laid_out)
        self._program.close()
