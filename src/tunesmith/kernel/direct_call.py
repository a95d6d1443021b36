"""The fast path of a kernel call: the caller's arrays go to the compiled function unchecked.

Nothing is copied. The compiled function itself checks the type, shape, strides and device of every
array, on each call; DLPack refuses arrays that are read-only or byte-swapped. Python only looks up
the classes of the arrays, and checks that the caller's ``out`` is writable and overlaps no input.

A call that this path cannot make returns None or raises anything; the caller then takes the
checked path (``CpuCalling``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tunesmith.kernel import arrays
from tunesmith.operators import Argument

DirectCall = Callable[[Sequence[Any], Any | None], Any | None]
"""Takes the inputs and ``out`` (None for a new array); returns the filled array, or None."""


def direct_call(
    function: Callable[..., None],
    arguments: Sequence[Argument],
    result: Argument,
    constants: Mapping[int, Any],
) -> DirectCall:
    """A call of ``function`` on the ``arguments``, with ``constants`` at their positions.

    It is a closure because its names resolve faster than attributes.
    """
    import tvm_ffi

    run = _with_constants(function, constants)
    sizes = [argument.bytes for argument in arguments]
    result_size = result.bytes
    # NumPy does not export bfloat16: such arrays are converted before the call.
    converts = "bfloat16" in {result.dtype, *(each.dtype for each in arguments)}
    tensor = arrays.numpy_tensor if converts else tvm_ffi.from_dlpack
    of_numpy = (np.ndarray, np.memmap)
    makers = _Makers(result)

    def call(inputs: Sequence[Any], out: Any | None) -> Any | None:
        for value in inputs:
            if makers[type(value)] is None:
                return None
        if out is not None:
            return into(inputs, out)
        made = makers[type(inputs[0])]()
        if converts:
            run(*map(as_tensor, inputs), as_tensor(made))
        else:
            run(*inputs, made)
        return made

    def into(inputs: Sequence[Any], out: Any) -> Any | None:
        kind = type(out)
        if makers[kind] is None or (kind not in of_numpy and getattr(out, "requires_grad", False)):
            return None
        output = as_tensor(out)
        if kind in of_numpy and not out.flags.writeable:
            return None
        start = output.data_ptr()
        end = start + result_size
        tensors = []
        for value, size in zip(inputs, sizes):  # noqa: B905 - the function counts them
            one = tensor(value) if type(value) in of_numpy else value
            other = one.data_ptr()
            if other < end and start < other + size:
                return None
            tensors.append(one)
        run(*tensors, output)
        return out

    def as_tensor(value: Any) -> Any:
        """``value`` as something with ``data_ptr``: tensors of PyTorch and TVM have it."""
        return tensor(value) if type(value) in of_numpy else value

    return call


def _with_constants(
    function: Callable[..., None], constants: Mapping[int, Any]
) -> Callable[..., None]:
    if not constants:
        return function
    if list(constants) == [1]:  # the weights in most operators: no list is built
        constant = constants[1]
        return lambda first, *others: function(first, constant, *others)
    ordered = sorted(constants.items())

    def run(*given: Any) -> None:
        whole = list(given)
        for place, constant in ordered:
            whole.insert(place, constant)
        function(*whole)

    return run


class _Makers(dict[type, Any]):
    """For each array class of the fast path a function that makes a result of its library, and None
    for all other classes. Filled on first use of a class."""

    def __init__(self, result: Argument) -> None:
        super().__init__()
        self._result = result

    def __missing__(self, kind: type) -> Callable[[], Any] | None:
        found = self._maker(kind)
        self[kind] = found
        return found

    def _maker(self, kind: type) -> Callable[[], Any] | None:
        result = self._result
        if kind in (np.ndarray, np.memmap):
            empty, shape, dtype = np.empty, result.shape, result.numpy_dtype
            return lambda: empty(shape, dtype)
        torch = sys.modules.get("torch")
        if torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
            # The fastest way to make a tensor is empty_like of an example, which needs no memory.
            example = torch.empty(result.shape, dtype=getattr(torch, result.dtype), device="cpu")
            example.untyped_storage().resize_(0)
            empty_like = torch.empty_like
            return lambda: empty_like(example)
        if arrays.is_tvm_class(kind):
            return lambda: arrays.new_tensor(result)
        return None
