"""Calls a compiled network on a GPU, where its weights stay."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tunesmith.cuda.devices import check_gpu, gpu_for
from tunesmith.cuda.runtime import load_runtime
from tunesmith.kernel import arrays, gpu_arrays
from tunesmith.kernel.gpu_calling import failures
from tunesmith.networks.description import Description, Entry
from tunesmith.operators import Argument

# What a call takes beside its inputs, by function: the function, and its weights on a GPU.
_Functions = Mapping[str, tuple[Callable[..., Any], Sequence[Any]]]


@dataclass
class GpuNetwork:
    """A network for ``description.arch``, on each GPU that it has been called on.

    ``executable`` has TVM's module as its ``library``. ``weights`` are in main memory; those that
    are prepared on the GPU are None.
    """

    description: Description
    executable: Any
    weights: Sequence[Any]
    _on: dict[int, _Functions] = field(default_factory=dict)

    def check_runs_here(self) -> None:
        """Raises like ``gpu_for`` and ``load_runtime`` if no GPU here runs the network."""
        gpu_for(str(self.description.arch))
        load_runtime()

    def call(self, entry: Entry, inputs: Sequence[Any]) -> list[Any]:
        """The results, where the inputs are, and as arrays of the first one's library.

        Raises ``UsageError`` for arrays that do not fit, ``TunesmithError`` if the call fails, and
        like ``check_runs_here``.
        """
        place, gpu = self._place(entry, inputs)
        with _launching(inputs, gpu, there=place is not None) as stream:
            tensors = self._tensors(entry, inputs, gpu, stream)
            function, weights = self._functions(gpu)[entry.function]
            made = function(*tensors, *weights)
            results = [made] if len(entry.outputs) == 1 else list(made)
            if place is None:
                return [
                    _downloaded(result, argument, inputs)
                    for result, argument in zip(results, entry.outputs, strict=True)
                ]
            return [_handed_out(result, inputs[0], stream) for result in results]

    def bind(self, entry: Entry, inputs: Sequence[Any]) -> Callable[[], None]:
        """A call without checks on copies of these arrays on the GPU, which waits for the GPU.

        Raises like ``call``.
        """
        place, gpu = self._place(entry, inputs)
        with _launching(inputs, gpu, there=place is not None) as stream:
            given = zip(self._tensors(entry, inputs, gpu, stream), entry.inputs, strict=True)
            copies = [gpu_arrays.copied_tensor(each, of, gpu, stream) for each, of in given]
            function, weights = self._functions(gpu)[entry.function]

        def call() -> None:
            with _launching(copies, gpu, there=True) as stream:
                function(*copies, *weights)
                gpu_arrays.gpu_device(gpu).sync(stream)

        return call

    def _place(self, entry: Entry, inputs: Sequence[Any]) -> tuple[int | None, int]:
        """The GPU that has the inputs, None for main memory, and the one to run on."""
        self.check_runs_here()
        arch = str(self.description.arch)
        place = gpu_arrays.common_gpu(inputs, entry.inputs) if inputs else None
        gpu = gpu_for(arch).index if place is None else place
        check_gpu(gpu, arch)
        return place, gpu

    def _tensors(self, entry: Entry, inputs: Sequence[Any], gpu: int, stream: int) -> list[Any]:
        tensors = []
        for value, argument in zip(inputs, entry.inputs, strict=True):
            tensor = gpu_arrays.input_tensor(value, argument, gpu, stream)
            self.description.check_indices(argument, partial(_read, tensor, stream))
            tensors.append(tensor)
        return tensors

    def _functions(self, gpu: int) -> _Functions:
        if gpu not in self._on:
            self._on[gpu] = self._loaded(gpu)
        return self._on[gpu]

    def _loaded(self, gpu: int) -> _Functions:
        """The functions on a GPU; the weights are copied there and laid out."""
        import tvm
        from tvm import relax

        device = gpu_arrays.gpu_device(gpu)
        # Shapes are computed on the CPU.
        machine = relax.VirtualMachine(self.executable.library, [device, tvm.cpu()])
        preparation = self.description.preparation
        entries = self.description.entries
        read = {number for entry in entries for number in entry.weights}
        needed = read.union(() if preparation is None else preparation.reads)
        weights: dict[int, Any] = {
            number: tvm.runtime.tensor(arrays.as_numpy(weight), device)
            for number, weight in enumerate(self.weights)
            if weight is not None and number in needed
        }
        device.sync()  # the copies were on the default stream
        if preparation is not None:
            made = machine[preparation.function](*(weights[it] for it in preparation.reads))
            weights |= zip(preparation.makes, made, strict=True)
            gpu_arrays.wait(made[0])
        return {
            entry.function: (machine[entry.function], [weights[it] for it in entry.weights])
            for entry in entries
        }


def _read(tensor: Any, stream: int) -> Any:
    """A tensor on a GPU as a NumPy array."""
    tensor.device.sync(stream)  # TVM copies on the default stream
    return tensor.numpy()


def _downloaded(tensor: Any, argument: Argument, inputs: Sequence[Any]) -> Any:
    """A copy in main memory, as an array of the first input's library."""
    copy = arrays.new_tensor(argument)
    tensor.device.sync()
    copy.copyfrom(tensor)
    tensor.device.sync()
    return arrays.like(inputs[0], copy) if inputs else arrays.as_numpy(copy)


def _handed_out(tensor: Any, example: Any, stream: int) -> Any:
    """A result on a GPU, as an array of the example's library.

    For PyTorch it is a copy in PyTorch's memory: TVM's would be used again by the next call as soon
    as PyTorch frees the result, even if another stream still reads it.
    """
    result = gpu_arrays.like(example, tensor, stream)
    return result.clone() if arrays.is_torch(result) else result


# All networks on a GPU share the memory of what is between their layers.
_lock = threading.Lock()
_streams: dict[int, int] = {}


@contextlib.contextmanager
def _launching(inputs: Sequence[Any], gpu: int, *, there: bool) -> Iterator[int]:
    """Within the block TVM launches on the stream for these inputs, which is yielded, and no other
    thread calls a network. The stream has waited, on the GPU, for the one that was used last."""
    import tvm

    with gpu_arrays.launching(inputs, gpu, there=there) as stream, failures(gpu), _lock:
        before = _streams.get(gpu, stream)
        if before != stream:
            device = gpu_arrays.gpu_device(gpu)
            tvm.get_global_func("runtime.Device_StreamSyncFromTo")(device, before, stream)
        _streams[gpu] = stream
        yield stream
