"""A user's arrays on a GPU, or on their way there: PyTorch's, TVM's, and others with DLPack."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.kernel import arrays
from tunesmith.operators import Argument

# DLPack's numbers of devices, and of CUDA's default stream.
_CPU, _CUDA = 1, 2
_DEFAULT_STREAM = 1

# Which DLPack we speak: the newest that TVM does.
_DLPACK = (1, 0)


def common_gpu(values: Sequence[Any], arguments: Sequence[Argument]) -> int | None:
    """The GPU that has all of these arrays, by its number; None where main memory has.

    Raises ``UsageError`` if one of them is no array, of another type or shape than its argument, or
    elsewhere than the first.
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
    """TVM's device."""
    import tvm

    return tvm.cuda(gpu)


@contextlib.contextmanager
def launching(values: Sequence[Any], gpu: int, *, there: bool) -> Iterator[int]:
    """Launch for a while on the stream that the library of the first of these arrays works on.

    That is PyTorch's current one for its tensors, that of ``tvm_ffi`` for TVM's, and CUDA's default
    stream for others. ``there`` says that the arrays are on the GPU; for those in main memory it is
    the default stream, too. The value is the stream's handle.
    """
    import tvm_ffi

    device = gpu_device(gpu)
    used, stream = tvm_ffi.get_raw_stream(device), 0
    with contextlib.ExitStack() as stack:
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            # It gives no tensors away but those on the current GPU. And what TVM makes the current
            # one ends to be that with the block.
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
    """``value`` as a tensor on a GPU, on its own memory where that is there and can be used as it
    is, as for ``arrays.input_tensor``; else a copy.

    What other streams still do to it comes before what is launched on ``stream`` from now on.
    Raises ``UsageError`` for an array on a GPU that is neither PyTorch's nor usable as it is.
    """
    if _place(value, argument) is None:
        return _uploaded(arrays.input_tensor(value, argument), argument, gpu)
    if arrays.is_torch(value):
        value = value.detach()
    try:
        return _shared(value, stream)
    except Exception as error:
        # On another stream a copy might be gone too soon.
        if not arrays.is_torch(value) or _torch_stream(gpu) != stream:
            raise arrays.unusable(argument.name, error) from error
    return _shared(value.clone(memory_format=sys.modules["torch"].contiguous_format), stream)


def copied_tensor(value: Any, argument: Argument, gpu: int, stream: int) -> Any:
    """A tensor on a GPU with a copy of ``value``. Raises like ``input_tensor``."""
    tensor = input_tensor(value, argument, gpu, stream)
    return _uploaded(tensor, argument, gpu, stream)


def poisoned_tensor(argument: Argument, gpu: int) -> Any:
    """A new tensor on a GPU with every bit set, as ``arrays.poisoned_tensor``."""
    return _uploaded(arrays.poisoned_tensor(argument), argument, gpu)


def output_tensor(value: Any, argument: Argument, inputs: Sequence[Any], stream: int) -> Any:
    """A tensor on a GPU for the result: ``value``'s own memory, or new memory for ``store``.

    New memory is taken where ``value`` cannot be written as it is, or overlaps one of ``inputs``.
    Raises ``UsageError`` like ``arrays.output_tensor``.
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
    """Until what was launched on the current stream of the GPU that has a tensor has ended."""
    import tvm_ffi

    tensor.device.sync(tvm_ffi.get_raw_stream(tensor.device))


def result_tensor(example: Any, argument: Argument, gpu: int) -> Any:
    """A new tensor on a GPU, with memory of PyTorch if ``example`` is its: it keeps some ready."""
    import tvm

    if not arrays.is_torch(example):
        return arrays.new_tensor(argument, gpu_device(gpu))
    torch = sys.modules["torch"]
    dtype = getattr(torch, argument.dtype)
    return tvm.runtime.from_dlpack(torch.empty(argument.shape, dtype=dtype, device=example.device))


def like(example: Any, tensor: Any, stream: int) -> Any:
    """``tensor`` as an array of the library of ``example``, which is on the GPU as well.

    TVM's own where that library offers no way. Libraries other than PyTorch and TVM do not know of
    ``stream``: it is waited for.
    """
    if not (arrays.is_torch(example) or arrays.is_tvm(example)):
        tensor.device.sync(stream)
    library = sys.modules.get(type(example).__module__.partition(".")[0])
    if arrays.is_tvm(example) or not hasattr(library, "from_dlpack"):
        return tensor
    return arrays.like(example, tensor)


def store(tensor: Any, value: Any, argument: Argument, stream: int) -> None:
    """Copy ``tensor``, which ``output_tensor`` gave for ``value``, into it if it is new memory."""
    if arrays.is_tvm(value) and value.data_ptr() != tensor.data_ptr():
        tensor.device.sync(stream)  # for it copies on the default stream
    arrays.store(tensor, value, argument)


def _shared(value: Any, stream: int) -> Any:
    """A tensor on the memory of ``value``. Raises whatever its library or TVM raises."""
    import tvm

    if arrays.is_tvm(value):
        return tvm.runtime.from_dlpack(value)
    consumer = stream or _DEFAULT_STREAM
    try:
        capsule = value.__dlpack__(stream=consumer, max_version=_DLPACK)
    except TypeError:  # of before DLPack 1.0
        capsule = value.__dlpack__(stream=consumer)
    return tvm.runtime.from_dlpack(capsule)


def _uploaded(tensor: Any, argument: Argument, gpu: int, stream: int = 0) -> Any:
    """A copy on a GPU."""
    device = gpu_device(gpu)
    if stream:
        device.sync(stream)  # for TVM copies on the default stream
    copy = arrays.new_tensor(argument, device)
    copy.copyfrom(tensor)
    device.sync()
    return copy
