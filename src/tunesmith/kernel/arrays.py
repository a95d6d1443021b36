"""A user's arrays as tensors of TVM's runtime, and back: NumPy, PyTorch, and others with DLPack."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tunesmith.errors import UsageError, first_line
from tunesmith.operators import Argument

# Where our own tensors start: at whole vectors, which are read fastest there.
ALIGNMENT = 64

_CPU = 1  # DLPack's number of the device


def check(value: Any, argument: Argument) -> tuple[int, int]:
    """Where an array is: DLPack's number of a kind of device, and the device's own.

    Raises ``UsageError`` if it is no array, or of another type or shape than the argument.
    """
    if not hasattr(value, "__dlpack__"):
        raise UsageError(f"{argument.name} must be an array (NumPy or DLPack), not {_kind(value)}")
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


def input_tensor(value: Any, argument: Argument, alignment: int = 1) -> Any:
    """``value`` as a tensor that TVM may read, on its own memory where that can be used as it is.

    That needs C order, and a start at a multiple of ``alignment`` bytes; anything else is copied.
    Raises ``UsageError`` if it is no array in main memory, or of another type or shape than the
    argument.
    """
    _check_here(value, argument)
    shared = _shared(value, alignment)
    if shared is not None:
        return shared
    try:
        return _copied(value)
    except Exception as error:  # of a stranger's class, which may fail in any way
        raise unusable(argument.name, error) from error


def output_tensor(value: Any, argument: Argument, inputs: Sequence[Any], alignment: int = 1) -> Any:
    """A tensor for the result: ``value``'s own memory, or new memory for ``store`` to copy.

    New memory is taken where ``value`` cannot be written as it is, or overlaps one of ``inputs``
    (tensors of ``input_tensor``). Raises ``UsageError`` like ``input_tensor``, and for an array
    that is read-only, needs gradients, or is of another library than NumPy, PyTorch and TVM.
    """
    _check_here(value, argument)
    check_writable(value, argument)
    shared = _shared(value, alignment)
    if shared is None or overlaps(shared, inputs):
        return new_tensor(argument)
    return shared


def check_writable(value: Any, argument: Argument) -> None:
    """Raises ``UsageError`` for an array that cannot be filled, or of which that is not known."""
    if isinstance(value, np.ndarray):
        if not value.flags.writeable:
            raise UsageError(f"{argument.name} is read-only: give an array that can be written")
    elif is_torch(value):
        if value.requires_grad:
            raise UsageError(f"{argument.name} requires gradients: give {argument.name}.detach()")
    elif not is_tvm(value):
        raise UsageError(
            f"{argument.name} must be a NumPy array or a PyTorch tensor, not {_kind(value)}"
        )


def store(tensor: Any, value: Any, argument: Argument) -> None:
    """Copy ``tensor``, which ``output_tensor`` gave for ``value``, into it if it is new memory."""
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
    """An aligned tensor of the argument's shape and type, its contents undefined.

    ``device`` is TVM's; None means main memory.
    """
    import tvm

    return tvm.runtime.empty(argument.shape, argument.dtype, device or tvm.cpu())


def copied_tensor(value: Any, argument: Argument) -> Any:
    """A tensor with a copy of ``value``. Raises ``UsageError`` like ``input_tensor``."""
    copy = new_tensor(argument)
    copy.copyfrom(input_tensor(value, argument))
    return copy


def poisoned_tensor(argument: Argument) -> Any:
    """A new tensor with every bit set: NaN in each type of float, -1 or the largest in integers.

    A program that reads what it never wrote then gives the same wrong result every time.
    """
    tensor = new_tensor(argument)
    start, end = _extent(tensor)
    ctypes.memset(start, 0xFF, end - start)
    return tensor


def like(example: Any, tensor: Any) -> Any:
    """``tensor`` as an array of the library of ``example``, NumPy's if it offers no way.

    Memory is shared, except with NumPy arrays of bfloat16.
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
    """A tensor of TVM as a NumPy array on the same memory, or a copy of bfloat16."""
    try:
        return np.from_dlpack(tensor)
    except (RuntimeError, BufferError):  # NumPy's DLPack knows no bfloat16
        return tensor.numpy()


def _check_here(value: Any, argument: Argument) -> None:
    device, _ = check(value, argument)
    if device != _CPU:
        raise UsageError(f"{argument.name} must be in main memory: copy it there from its device")


def _shared(value: Any, alignment: int) -> Any | None:
    """A tensor on the memory of ``value``, or None where TVM cannot use that."""
    import tvm_ffi

    try:
        if isinstance(value, np.ndarray):
            tensor = numpy_tensor(value)
        else:
            tensor = tvm_ffi.from_dlpack(value.detach() if is_torch(value) else value)
    except Exception:  # of a stranger's class, or a type or an order of bytes that DLPack lacks
        return None
    return tensor if tensor.is_contiguous() and tensor.data_ptr() % alignment == 0 else None


def numpy_tensor(array: Any) -> Any:
    """A tensor on the memory of a NumPy array, of bfloat16 too, and of one that is read-only.

    Raises whatever NumPy or TVM raises.
    """
    import tvm_ffi

    if array.dtype.char == _OF_A_STRANGER and array.dtype.name == "bfloat16":
        return _bfloat16_tensor(array)
    if array.flags.writeable:
        return tvm_ffi.from_dlpack(array)
    return tvm_ffi.from_dlpack(array.__dlpack__(max_version=(1, 0)))


# NumPy's character of types that other packages define.
_OF_A_STRANGER = "E"

# DLPack's code of bfloat16, and where in its ``DLManagedTensorVersioned`` the code stands: after a
# version, two pointers and flags, and in a tensor after a pointer, a device and a number.
_BFLOAT16, _CODE_AT = 4, 8 + 2 * 8 + 8 + 8 + 8 + 4

_memory_of_capsule = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _bfloat16_tensor(array: Any) -> Any:
    """NumPy gives no array of bfloat16 away, but one of numbers of 16 bits, renamed here."""
    import tvm_ffi

    capsule = array.view(np.uint16).__dlpack__(max_version=(1, 0))
    start = _memory_of_capsule(capsule, b"dltensor_versioned")
    ctypes.c_uint8.from_address(start + _CODE_AT).value = _BFLOAT16
    return tvm_ffi.from_dlpack(capsule)


def _copied(value: Any) -> Any:
    """A tensor with a copy of ``value``, at a multiple of 64 bytes."""
    import tvm
    import tvm_ffi

    if not is_torch(value):
        array = value if isinstance(value, np.ndarray) else np.from_dlpack(value)
        return tvm.runtime.tensor(np.ascontiguousarray(array))
    torch = sys.modules["torch"]
    # PyTorch aligns what it allocates to 64 bytes.
    return tvm_ffi.from_dlpack(value.detach().clone(memory_format=torch.contiguous_format))


def overlaps(tensor: Any, others: Sequence[Any]) -> bool:
    """Whether a tensor has memory in common with one of the others."""
    start, end = _extent(tensor)
    extents = map(_extent, others)
    return any(start < other_end and other_start < end for other_start, other_end in extents)


def bytes_of(tensor: Any) -> memoryview:
    """The memory of a dense tensor on the processor, byte by byte; it must outlive the view."""
    start, end = _extent(tensor)
    return memoryview((ctypes.c_ubyte * (end - start)).from_address(start)).cast("B")


def _extent(tensor: Any) -> tuple[int, int]:
    """The first address of a dense tensor and the one after its last."""
    start = int(tensor.data_ptr())
    itemsize = (tensor.dtype.bits + 7) // 8
    return start, start + int(tensor.numel()) * itemsize


def byte_count(argument: Argument) -> int:
    """The bytes of a dense tensor."""
    return argument.elements * numpy_type(argument.dtype).itemsize


def numpy_type(dtype: str) -> np.dtype[Any]:
    """NumPy's type of elements."""
    if dtype != "bfloat16":
        return np.dtype(dtype)
    import ml_dtypes

    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found


def is_torch(value: Any) -> bool:
    """Whether it is a tensor of PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_tvm(value: Any) -> bool:
    """Whether it is a tensor of TVM's runtime."""
    return is_tvm_class(type(value))


def is_tvm_class(kind: type) -> bool:
    """Whether it is the class of the tensors of TVM's runtime."""
    import tvm

    return issubclass(kind, tvm.runtime.Tensor)


def _kind(value: Any) -> str:
    return type(value).__name__


def unusable(name: str, error: Exception) -> UsageError:
    """The error for an array that its own library does not let be used."""
    return UsageError(f"{name} cannot be used as an array: {first_line(error)}")
