"""Converts arrays (PyTorch, TVM, others with DLPack) to tensors on a GPU and back."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.kernel import arrays
from tunesmith.operators import Argument

# DLPack's device types, and its number of CUDA's default stream.
_CPU, _CUDA = 1, 2
_DEFAULT_STREAM = 1

# The newest DLPack version that TVM reads.
_DLPACK = (1, 0)


def common_gpu(values: Sequence[Any], arguments: Sequence[Argument]) -> int | None:
    """The index of the GPU that holds all of these arrays; None for main memory.

    Raises ``UsageError`` if one of them is not an array, has the wrong type or shape, or is not
    where the first one is.
    """
    first, place = arguments[0].name, _place(values[0], arguments[0])
    for value, argument in zip(values[1:], arguments[1:], strict=True):
        other = _place(value, argument)
        if other != place:
            raise UsageError(
                f"{argument.name} is {_text(other)} and {first} {_text(place)}: put all arrays in "
                "one place"
            )
    return place


def _place(value: Any, argument: Argument) -> int | None:
    kind, number = arrays.check(value, argument)
    if kind not in (_CPU, _CUDA):
        raise UsageError(f"{argument.name} must be in main memory or on an NVIDIA GPU")
    return number if kind == _CUDA else None


def _text(place: int | None) -> str:
    return "in main memory" if place is None else f"on GPU {place}"


def gpu_device(gpu: int) -> Any:
    """TVM's device object for a GPU."""
    import tvm

    return tvm.cuda(gpu)


@contextlib.contextmanager
def launching(values: Sequence[Any], gpu: int, *, there: bool) -> Iterator[int]:
    """Within the block TVM launches on the stream of the first array's library; yields its handle.

    That is PyTorch's current stream for its tensors, that of ``tvm_ffi`` for TVM's, and CUDA's
    default stream for other libraries and for arrays in main memory (not ``there``).
    """
    import tvm_ffi

    device = gpu_device(gpu)
    used, stream = tvm_ffi.get_raw_stream(device), 0
    with contextlib.ExitStack() as stack:
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            # PyTorch exports only tensors on the current GPU. The block also restores the current
            # GPU, which TVM changes.
            stack.enter_context(torch.cuda.device(gpu))
        if torch is not None and there and arrays.is_torch(values[0]):
            stream = _torch_stream(gpu)
        elif there and arrays.is_tvm(values[0]):
            stream = used
        if stream != used and there and any(map(arrays.is_tvm, values)):
            device.sync(used)
        stack.enter_context(tvm_ffi.use_raw_stream(device, stream))
        yield stream


def _torch_stream(gpu: int) -> int:
    """The handle of PyTorch's current stream."""
    return int(sys.modules["torch"].cuda.current_stream(gpu).cuda_stream)


def input_tensor(value: Any, argument: Argument, gpu: int, stream: int) -> Any:
    """``value`` as a tensor on a GPU: on its own memory if that can be shared, else a copy.

    Later launches on ``stream`` wait for pending work on ``value`` in other streams. Raises
    ``UsageError`` for an array on a GPU that cannot be shared, unless PyTorch can copy it on
    ``stream``.
    """
    if _place(value, argument) is None:
        return _uploaded(arrays.input_tensor(value, argument), argument, gpu)
    if arrays.is_torch(value):
        value = value.detach()
    try:
        return _shared(value, stream)
    except Exception as error:
        # PyTorch might reuse a copy's memory while another stream still reads it.
        if not arrays.is_torch(value) or _torch_stream(gpu) != stream:
            raise arrays.unusable(argument.name, error) from error
    return _shared(value.clone(memory_format=sys.modules["torch"].contiguous_format), stream)


def copied_tensor(value: Any, argument: Argument, gpu: int, stream: int) -> Any:
    """A copy of ``value`` on a GPU. Raises like ``input_tensor``."""
    tensor = input_tensor(value, argument, gpu, stream)
    return _uploaded(tensor, argument, gpu, stream)


def poisoned_tensor(argument: Argument, gpu: int) -> Any:
    """A new tensor on a GPU with every bit set, like ``arrays.poisoned_tensor``."""
    return _uploaded(arrays.poisoned_tensor(argument), argument, gpu)


def output_tensor(value: Any, argument: Argument, inputs: Sequence[Any], stream: int) -> Any:
    """A tensor on a GPU for the result: on ``value``'s memory, or a new one for ``store``.

    It is new if ``value`` cannot be written in place, or overlaps one of ``inputs``. Raises
    ``UsageError`` like ``arrays.output_tensor``.
    """
    arrays.check_writable(value, argument)
    try:
        shared = _shared(value, stream)
    except Exception:  # not aligned or not in C order
        shared = None
    if shared is None or arrays.overlaps(shared, inputs):
        return result_tensor(value, argument, value.__dlpack_device__()[1])
    return shared


def wait(tensor: Any) -> None:
    """Wait for TVM's current stream on the tensor's GPU."""
    import tvm_ffi

    tensor.device.sync(tvm_ffi.get_raw_stream(tensor.device))


def result_tensor(example: Any, argument: Argument, gpu: int) -> Any:
    """A new tensor on a GPU; for a PyTorch ``example`` from PyTorch's caching allocator."""
    import tvm

    if not arrays.is_torch(example):
        return arrays.new_tensor(argument, gpu_device(gpu))
    torch = sys.modules["torch"]
    dtype = getattr(torch, argument.dtype)
    return tvm.runtime.from_dlpack(torch.empty(argument.shape, dtype=dtype, device=example.device))


def like(example: Any, tensor: Any, stream: int) -> Any:
    """``tensor`` as an array of the library of ``example``, which is on the same GPU.

    It stays TVM's if that library lacks ``from_dlpack``. Libraries other than PyTorch and TVM do
    not know ``stream``, so this waits for it.
    """
    if not (arrays.is_torch(example) or arrays.is_tvm(example)):
        tensor.device.sync(stream)
    library = sys.modules.get(type(example).__module__.partition(".")[0])
    if arrays.is_tvm(example) or not hasattr(library, "from_dlpack"):
        return tensor
    return arrays.like(example, tensor)


def store(tensor: Any, value: Any, argument: Argument, stream: int) -> None:
    """Copy ``tensor``, from ``output_tensor``, to ``value`` unless they share memory."""
    if arrays.is_tvm(value) and value.data_ptr() != tensor.data_ptr():
        tensor.device.sync(stream)  # TVM copies on the default stream
    arrays.store(tensor, value, argument)


def _shared(value: Any, stream: int) -> Any:
    """A tensor on the memory of ``value``. Raises what its library or TVM raises."""
    import tvm

    if arrays.is_tvm(value):
        return tvm.runtime.from_dlpack(value)
    consumer = stream or _DEFAULT_STREAM
    try:
        capsule = value.__dlpack__(stream=consumer, max_version=_DLPACK)
    except TypeError:  # the library is older than DLPack 1.0
        capsule = value.__dlpack__(stream=consumer)
    return tvm.runtime.from_dlpack(capsule)


def _uploaded(tensor: Any, argument: Argument, gpu: int, stream: int = 0) -> Any:
    """A copy on a GPU."""
    device = gpu_device(gpu)
    if stream:
        device.sync(stream)  # TVM copies on the default stream
    copy = arrays.new_tensor(argument, device)
    copy.copyfrom(tensor)
    device.sync()
    return copy
