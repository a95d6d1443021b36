"""Calls a compiled GPU function on the caller's arrays, in main memory or on the GPU."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tunesmith.cuda.devices import check_gpu, gpu_for
from tunesmith.errors import TunesmithError, UsageError, first_line
from tunesmith.kernel import arrays, gpu_arrays
from tunesmith.kernel.calling import Calling
from tunesmith.operators import Argument


@dataclass(frozen=True, kw_only=True)
class GpuCalling(Calling):
    """A GPU function compiled for ``arch``.

    Arrays on a GPU are used in place. Arrays in main memory are copied to ``gpu`` and the result is
    copied back before the call returns; None means the first GPU that runs the code. ``constants``
    must be on ``gpu``.
    """

    arch: str
    gpu: int | None = None

    @property
    def call(self) -> Callable[[Sequence[Any], Any | None], Any]:
        """As for ``Calling``."""
        return self._call

    def _call(self, inputs: Sequence[Any], out: Any | None) -> Any:
        self.check_count(inputs)
        values, arguments = list(inputs), list(self.arguments)
        if out is not None:
            values, arguments = [*values, out], [*arguments, self.named_out()]
        place = gpu_arrays.common_gpu(values, arguments)
        gpu = self._gpu(place)
        with gpu_arrays.launching(values, gpu, there=place is not None) as stream:
            if place is None:
                return self._from_main_memory(inputs, out, gpu)
            return self._on_the_gpu(inputs, out, gpu, stream)

    def _from_main_memory(self, inputs: Sequence[Any], out: Any | None, gpu: int) -> Any:
        result = self.named_out()
        here = arrays.new_tensor(result) if out is None else arrays.output_tensor(out, result, [])
        with failures(gpu):
            output = arrays.new_tensor(result, gpu_arrays.gpu_device(gpu))
            self.function(*self._tensors(inputs, gpu, 0), output)
            output.device.sync()
            here.copyfrom(output)
            output.device.sync()
        if out is None:
            return arrays.like(inputs[0], here)
        arrays.store(here, out, result)
        return out

    def _on_the_gpu(self, inputs: Sequence[Any], out: Any | None, gpu: int, stream: int) -> Any:
        result = self.named_out()
        with failures(gpu):
            tensors = self._tensors(inputs, gpu, stream)
            if out is None:
                output = gpu_arrays.result_tensor(inputs[0], result, gpu)
            else:
                output = gpu_arrays.output_tensor(out, result, tensors, stream)
            self.function(*tensors, output)
            if out is None:
                return gpu_arrays.like(inputs[0], output, stream)
            gpu_arrays.store(output, out, result, stream)
            return out

    def bind(self, inputs: Sequence[Any]) -> Callable[[], None]:
        """As for ``Calling``. The copies are on the GPU, and a call waits for the GPU."""
        self.check_count(inputs)
        place = gpu_arrays.common_gpu(inputs, self.arguments)
        gpu = self._gpu(place)
        with (
            gpu_arrays.launching(inputs, gpu, there=place is not None) as stream,
            failures(gpu),
        ):
            copies = [
                gpu_arrays.copied_tensor(value, argument, gpu, stream)
                for value, argument in zip(inputs, self.arguments, strict=True)
            ]
            given = self.complete(copies)
            output = arrays.new_tensor(self.result, gpu_arrays.gpu_device(gpu))
        return partial(self._call_and_wait, gpu, *given, output)

    def _call_and_wait(self, gpu: int, *tensors: Any) -> None:
        with gpu_arrays.launching(tensors, gpu, there=True) as stream, failures(gpu):
            self.function(*tensors)
            tensors[-1].device.sync(stream)

    def _tensors(self, inputs: Sequence[Any], gpu: int, stream: int) -> list[Any]:
        """The function's arguments before its result, on the GPU."""
        return self.complete(
            [
                gpu_arrays.input_tensor(value, argument, gpu, stream)
                for value, argument in zip(inputs, self.arguments, strict=True)
            ]
        )

    def _gpu(self, place: int | None) -> int:
        """The GPU for arrays at ``place``. Raises ``UsageError`` if the function cannot use it."""
        if place is None:
            return gpu_for(self.arch).index if self.gpu is None else self.gpu
        if self.constants and place != self.gpu:
            raise UsageError(
                f"the weights were prepared on GPU {self.gpu}, and the arrays are on GPU {place}: "
                "put them on the same"
            )
        check_gpu(place, self.arch)
        return place


def laid_out(
    weights: Any,
    argument: Argument,
    prepared: Argument | None,
    prepare: Callable[..., None] | None,
    arch: str,
) -> Any:
    """The weights on a GPU as ``prepare`` lays them out, or a copy if there is no such function.

    Raises ``UsageError`` for an array that does not fit.
    """
    place = gpu_arrays.common_gpu([weights], [argument])
    gpu = gpu_for(arch).index if place is None else place
    check_gpu(gpu, arch)
    with gpu_arrays.launching([weights], gpu, there=place is not None) as stream, failures(gpu):
        if prepared is None or prepare is None:
            return gpu_arrays.copied_tensor(weights, argument, gpu, stream)
        weight = gpu_arrays.input_tensor(weights, argument, gpu, stream)
        filled = gpu_arrays.poisoned_tensor(prepared, gpu)
        prepare(weight, filled)
        filled.device.sync(stream)
        return filled


# For each thread and GPU: the stream of the last function that used a workspace.
_workspace_user = threading.local()


def in_turn(function: Callable[..., None]) -> Callable[..., None]:
    """Makes a function with a workspace safe to call on several streams.

    TVM gives all functions that a thread calls the same workspace memory, whatever their stream. So
    a call on a new stream waits, on the GPU, for the stream of the last one.
    """

    def call(*tensors: Any) -> None:
        import tvm
        import tvm_ffi

        device = tensors[-1].device
        streams: dict[int, int] = _workspace_user.__dict__.setdefault("streams", {})
        stream = tvm_ffi.get_raw_stream(device)
        before = streams.get(device.index, stream)
        if before != stream:
            tvm.get_global_func("runtime.Device_StreamSyncFromTo")(device, before, stream)
        streams[device.index] = stream
        function(*tensors)

    return call


@contextlib.contextmanager
def failures(gpu: int) -> Iterator[None]:
    """Turn what TVM and the driver raise into a one-line ``TunesmithError``."""
    try:
        yield
    except TunesmithError:
        raise
    except Exception as error:
        raise TunesmithError(f"the call on GPU {gpu} failed: {first_line(error)}") from error
