"""A program on a GPU with its inputs, and the verification of its output on the GPU."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from tunesmith.cuda.gpu import Gpu
from tunesmith.cuda.gpu_program import GpuProgram
from tunesmith.cuda.lowering import functions_from_json
from tunesmith.measure.devices.gpu_check import GpuCheck
from tunesmith.measure.trial import timing
from tunesmith.measure.trial.prepared import Prepared
from tunesmith.sketches.tir.weights import PREPARE, WEIGHT, with_weights

Array = npt.NDArray[Any]


class GpuData:
    """The data that all programs of a job share on a GPU: inputs, output, and its verification.

    Raises ``CudaError``, for example if the GPU has too little memory.
    """

    def __init__(self, gpu: Gpu, prepared: Prepared) -> None:
        self.gpu = gpu
        self._prepared = prepared
        self._arrays: list[Array] = [tensor.numpy() for tensor in prepared.inputs]
        self.inputs = [gpu.upload(array) for array in self._arrays]
        self._unwritten: Array = prepared.new_output().numpy()
        self._blank = gpu.upload(self._unwritten)
        self.output = gpu.allocate(self._unwritten.nbytes)
        self._check = None
        if prepared.check is not None and prepared.reference is not None:
            self._check = GpuCheck(gpu, prepared.check, prepared.reference)

    def clear_output(self) -> None:
        """Fill the output with values that are wrong everywhere."""
        self.gpu.copy(self.output, self._blank, self._unwritten.nbytes)

    def mismatch(self) -> str | None:
        """What is wrong with the output in one line; None if it is right, or not verified."""
        if self._check is None or self._check.passes(self.output):
            return None
        return self._prepared.mismatch(self.read_output())

    def read_output(self) -> Array:
        """The output as a NumPy array."""
        return self.gpu.read(self.output, self._unwritten)

    def close(self) -> None:
        """Free the memory of inputs and output."""
        for address in (*self.inputs, self._blank, self.output):
            self.gpu.free(address)

    def restore(self) -> None:
        """Copy everything to the GPU again, in case a program has overwritten it."""
        for address, array in zip(self.inputs, self._arrays, strict=True):
            self.gpu.write(address, array)
        self.gpu.write(self._blank, self._unwritten)
        if self._check is not None:
            self._check.restore()


class LoadedGpuProgram:
    """A ``LoadedProgram``. The constructor does all work before the first call of ``main``.

    ``code`` is that of ``BuiltProgram``. ``close`` frees everything on the GPU. Raises
    ``CudaError``.
    """

    def __init__(self, data: GpuData, code: Mapping[str, Any]) -> None:
        self._data = data
        self._weights_bytes = int(code["weights_bytes"])
        gpu = data.gpu
        functions = functions_from_json(code["functions"])
        with contextlib.ExitStack() as stack:
            self._program = GpuProgram(gpu, Path(code["path"]).read_bytes(), functions)
            stack.callback(self._program.close)
            self._inputs = data.inputs
            if self._weights_bytes:
                laid_out = gpu.allocate(self._weights_bytes)
                stack.callback(gpu.free, laid_out)
                self._inputs = with_weights(data.inputs, laid_out)
            self._begin()
            self._held = stack.pop_all()

    def _begin(self) -> None:
        """Prepare the weights, and clear the output."""
        if self._weights_bytes:
            laid_out = self._inputs[WEIGHT]
            self._data.gpu.poison(laid_out, self._weights_bytes)
            self._program.call(PREPARE, [self._data.inputs[WEIGHT], laid_out])
        self._data.clear_output()

    def call(self) -> None:
        self._program.call("main", self._arguments)
        self._data.gpu.wait()

    def mismatch(self) -> str | None:
        """As in ``LoadedProgram``. Retries once with restored data: an earlier program may have
        overwritten it."""
        if self._data.mismatch() is None:
            return None
        self._data.restore()
        self._begin()
        self.call()
        return self._data.mismatch()

    def late_mismatch(self) -> str | None:
        self._data.clear_output()
        self.call()
        return self._data.mismatch()

    def estimate(self, first: float, hopeless: float) -> float:
        return timing.estimate_by_device(self._time_calls, first, hopeless)

    def _time_calls(self, calls: int) -> float:
        return self.seconds(calls, 1, False)[0]

    def seconds(self, calls: int, repeats: int, flush_cache: bool) -> list[float]:
        return self._program.seconds("main", self._arguments, calls, repeats, flush_cache)

    @property
    def _arguments(self) -> list[int]:
        return [*self._inputs, self._data.output]

    def close(self) -> None:
        self._held.close()
