"""Converts arrays (NumPy, PyTorch, others with DLPack) to tensors of TVM's runtime and back."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tunesmith.errors import UsageError, first_line
from tunesmith.operators import Argument

# Our own tensors start at multiples of this many bytes: aligned vectors are read fastest.
ALIGNMENT = 64

_CPU = 1  # DLPack's kDLCPU


def check(value: Any, argument: Argument) -> tuple[int, int]:
    """The array's DLPack device: its type and index.

    Raises ``UsageError`` for a value that is not an array, or has the wrong type or shape.
    """
    if not hasattr(value, "__dlpack__"):
        raise UsageError(
            f"{argument.name} must be an array (NumPy or DLPack), not {type(value).__name__}"
        )
    given, shape = str(value.dtype).removeprefix("torch."), tuple(value.shape)
    if shape != argument.shape or given != argument.dtype:
        raise UsageError(
            f"{argument.name} must be {argument.dtype} of shape {argument.shape}, "
            f"not {given} of shape {shape}"
        )
    try:
        device, number = value.__dlpack_device__()
        return int(device), int(number)
    except Exception as error:
        raise unusable(argument.name, error) from error


def aligned_bytes(size: int) -> Any:
    """A new array of so many bytes, aligned to 64."""
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]


def input_tensor(
    value: Any,
    argument: Argument,
    alignment: int = 1,
    memory: Callable[[int], Any] = aligned_bytes,
) -> Any:
    """``value`` as a tensor that TVM may read.

    It shares ``value``'s memory if that is in C order and starts at a multiple of ``alignment``
    bytes; otherwise it is a copy in the aligned ``memory`` for so many bytes. Raises ``UsageError``
    for a value that is not an array in main memory, or has the wrong type or shape.
    """
    _check_here(value, argument)
    shared = _shared(value, alignment)
    if shared is not None:
        return shared
    try:
        return _copied(value, memory)
    except Exception as error:  # a third-party array class may raise anything
        raise unusable(argument.name, error) from error


def output_tensor(value: Any, argument: Argument, inputs: Sequence[Any], alignment: int = 1) -> Any:
    """A tensor for the result: on ``value``'s memory, or a new one that ``store`` copies to it.

    It is new if ``value`` cannot be written in place, or overlaps one of ``inputs`` (tensors of
    ``input_tensor``). Raises ``UsageError`` like ``input_tensor``, and for an array that is
    read-only, requires gradients, or comes from a library other than NumPy, PyTorch and TVM.
    """
    _check_here(value, argument)
    check_writable(value, argument)
    shared = _shared(value, alignment)
    if shared is None or overlaps(shared, inputs):
        return new_tensor(argument)
    return shared


def check_writable(value: Any, argument: Argument) -> None:
    """Raises ``UsageError`` for an array that is not known to be writable."""
    if isinstance(value, np.ndarray):
        if not value.flags.writeable:
            raise UsageError(f"{argument.name} is read-only: give an array that can be written")
    elif is_torch(value):
        if value.requires_grad:
            raise UsageError(f"{argument.name} requires gradients: give {argument.name}.detach()")
    elif not is_tvm(value):
        raise UsageError(
            f"{argument.name} must be a NumPy array or a PyTorch tensor, not {type(value).__name__}"
        )


def store(tensor: Any, value: Any, argument: Argument) -> None:
    """Copy ``tensor``, from ``output_tensor``, to ``value`` unless they share memory."""
    try:
        if is_torch(value):
            if value.data_ptr() != tensor.data_ptr():
                value.copy_(like(value, tensor))
        elif is_tvm(value):
            if value.data_ptr() != tensor.data_ptr():
                value.copyfrom(tensor)
        elif value.ctypes.data != tensor.data_ptr():
            np.copyto(value, as_numpy(tensor))
    except Exception as error:
        raise unusable(argument.name, error) from error


def new_tensor(argument: Argument, device: Any | None = None) -> Any:
    """An aligned, uninitialised tensor of the argument's shape and type.

    ``device`` is a TVM device; None means main memory.
    """
    import tvm

    return tvm.runtime.empty(argument.shape, argument.dtype, device or tvm.cpu())


def copied_tensor(value: Any, argument: Argument) -> Any:
    """A tensor with a copy of ``value``. Raises ``UsageError`` like ``input_tensor``."""
    copy = new_tensor(argument)
    copy.copyfrom(input_tensor(value, argument))
    return copy


def duplicate(tensor: Any) -> Any:
    """A copy of a TVM tensor in main memory."""
    return _copied(as_numpy(tensor), aligned_bytes)


def poisoned_tensor(argument: Argument) -> Any:
    """A new tensor with every bit set: NaN for floats, -1 or the maximum for integers.

    So a program that reads uninitialised elements gives the same wrong result every time.
    """
    tensor = new_tensor(argument)
    start, end = _extent(tensor)
    ctypes.memset(start, 0xFF, end - start)
    return tensor


def like(example: Any, tensor: Any) -> Any:
    """``tensor`` as an array of ``example``'s library, or NumPy's if that lacks ``from_dlpack``.

    Both share memory, except for NumPy arrays of bfloat16.
    """
    if is_tvm(example):
        return tensor
    if not isinstance(example, np.ndarray):
        library = sys.modules.get(type(example).__module__.partition(".")[0])
        convert = getattr(library, "from_dlpack", None)
        if convert is not None:
            return convert(tensor)
    return as_numpy(tensor)


def as_numpy(tensor: Any) -> Any:
    """A TVM tensor as a NumPy array on the same memory; for bfloat16 a copy."""
    try:
        return np.from_dlpack(tensor)
    except (RuntimeError, BufferError):  # NumPy's DLPack knows no bfloat16
        return tensor.numpy()


def _check_here(value: Any, argument: Argument) -> None:
    device, _ = check(value, argument)
    if device != _CPU:
        raise UsageError(f"{argument.name} must be in main memory: copy it there from its device")


def _shared(value: Any, alignment: int) -> Any | None:
    """A tensor on the memory of ``value``, or None if TVM cannot use that memory."""
    import tvm_ffi

    try:
        if isinstance(value, np.ndarray):
            tensor = numpy_tensor(value)
        else:
            tensor = tvm_ffi.from_dlpack(value.detach() if is_torch(value) else value)
    except Exception:  # from a third-party class, or for a type or byte order that DLPack lacks
        return None
    return tensor if tensor.is_contiguous() and tensor.data_ptr() % alignment == 0 else None


def numpy_tensor(array: Any) -> Any:
    """A tensor on the memory of a NumPy array, which may be bfloat16 or read-only.

    Raises whatever NumPy or TVM raises.
    """
    import tvm_ffi

    if array.dtype.char == _EXTENSION_TYPE and array.dtype.name == "bfloat16":
        return _bfloat16_tensor(array)
    if array.flags.writeable:
        return tvm_ffi.from_dlpack(array)
    return tvm_ffi.from_dlpack(array.__dlpack__(max_version=(1, 0)))


# ``dtype.char`` of the types that ml_dtypes registers.
_EXTENSION_TYPE = "E"

# DLPack's type code of bfloat16, and the byte offset of the code in ``DLManagedTensorVersioned``:
# version, two pointers, flags, then in the tensor a pointer, the device and the rank.
_BFLOAT16, _CODE_OFFSET = 4, 8 + 2 * 8 + 8 + 8 + 8 + 4

_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _bfloat16_tensor(array: Any) -> Any:
    """NumPy does not export bfloat16: export uint16 and patch the type code."""
    import tvm_ffi

    capsule = array.view(np.uint16).__dlpack__(max_version=(1, 0))
    start = _capsule_pointer(capsule, b"dltensor_versioned")
    ctypes.c_uint8.from_address(start + _CODE_OFFSET).value = _BFLOAT16
    return tvm_ffi.from_dlpack(capsule)


def _copied(value: Any, memory: Callable[[int], Any]) -> Any:
    """A tensor with a copy of ``value``, aligned to 64 bytes."""
    import tvm_ffi

    if is_torch(value):
        torch, given = sys.modules["torch"], value.detach()
        taken = torch.from_numpy(memory(given.nbytes)).view(given.dtype).view(given.shape)
        return tvm_ffi.from_dlpack(taken.copy_(given))
    array = value if isinstance(value, np.ndarray) else np.from_dlpack(value)
    copy = memory(array.nbytes).view(array.dtype).reshape(array.shape)
    np.copyto(copy, array)
    return numpy_tensor(copy)


def overlaps(tensor: Any, others: Sequence[Any]) -> bool:
    """Whether a tensor shares memory with one of the others."""
    start, end = _extent(tensor)
    extents = map(_extent, others)
    return any(start < other_end and other_start < end for other_start, other_end in extents)


def bytes_of(tensor: Any) -> memoryview:
    """The bytes of a dense tensor in main memory. The tensor must outlive the view."""
    start, end = _extent(tensor)
    return memoryview((ctypes.c_ubyte * (end - start)).from_address(start)).cast("B")


def _extent(tensor: Any) -> tuple[int, int]:
    """A dense tensor's first address and the one after its last."""
    start = int(tensor.data_ptr())
    itemsize = (tensor.dtype.bits + 7) // 8
    return start, start + int(tensor.numel()) * itemsize


def is_torch(value: Any) -> bool:
    """Whether ``value`` is a PyTorch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_tvm(value: Any) -> bool:
    """Whether ``value`` is a tensor of TVM's runtime."""
    return is_tvm_class(type(value))


def is_tvm_class(kind: type) -> bool:
    """Whether ``kind`` is the class of TVM's tensors."""
    import tvm_ffi

    return issubclass(kind, tvm_ffi.Tensor)


def unusable(name: str, error: Exception) -> UsageError:
    """The error for an array that its own library cannot export."""
    return UsageError(f"{name} cannot be used as an array: {first_line(error)}")
