"""Calls of a compiled function on people's arrays as they are, in few steps of Python.

Nothing is copied, and hardly anything is asked of an array here: the compiled function itself looks
at the type, shape, strides and device of every array that it is given, each time. It takes those of
NumPy, PyTorch and TVM by DLPack, which gives no arrays away that are read-only or in another order
of bytes. What is left to be known are the classes of the arrays, which are looked up; and for a
result in the caller's own array that it may be written and is apart from the inputs.

Whatever this cannot do is left to a way with more steps: a call gives None, or raises anything.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tunesmith.kernel import arrays
from tunesmith.operators import Argument

DirectCall = Callable[[Sequence[Any], Any | None], Any | None]
"""Given the inputs and ``out``, or None for a new array: the array with the result, or None."""


def direct_call(
    function: Callable[..., None],
    arguments: Sequence[Argument],
    result: Argument,
    constants: Mapping[int, Any],
) -> DirectCall:
    """A call of ``function`` on the ``arguments``, with ``constants`` at their places among them.

    It is a closure, as the names in it are found faster than attributes are.
    """
    import tvm_ffi

    run = _with_constants(function, constants)
    sizes = [arrays.byte_count(argument) for argument in arguments]
    result_size = arrays.byte_count(result)
    # What NumPy speaks of DLPack has no bfloat16: such arrays are made tensors before the call.
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
        """What has ``data_ptr``, as the tensors of PyTorch and TVM have."""
        return tensor(value) if type(value) in of_numpy else value

    return call


def _with_constants(
    function: Callable[..., None], constants: Mapping[int, Any]
) -> Callable[..., None]:
    if not constants:
        return function
    if list(constants) == [1]:  # weights, which most often are second: without slices
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
    """For each class of arrays that is taken as it is what makes a result of its library; None for
    other classes. A class is looked at when it is met first."""

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
            empty, shape, dtype = np.empty, result.shape, arrays.numpy_type(result.dtype)
            return lambda: empty(shape, dtype)
        torch = sys.modules.get("torch")
        if torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
            # Of the ways to say what a new tensor is like, an example is read fastest. It needs no
            # memory for that.
            example = torch.empty(result.shape, dtype=getattr(torch, result.dtype), device="cpu")
            example.untyped_storage().resize_(0)
            empty_like = torch.empty_like
            return lambda: empty_like(example)
        if arrays.is_tvm_class(kind):
            return lambda: arrays.new_tensor(result)
        return None
