"""Calls of a compiled function on people's arrays as they are, in few steps of Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tunesmith import arrays
from tunesmith.operators import Argument


class DirectCall:
    """The short way of a call: nothing is copied, nothing is asked of an array in Python.

    The compiled function looks at every array that it is given itself, each time: its type, shape,
    strides and device. It takes arrays of NumPy, PyTorch and TVM by DLPack, in which those of NumPy
    that are read-only, or in another order of bytes, are no arrays. So what is left to be known here
    are the classes, which are looked up, and for a result in the caller's own array that it may be
    written and is apart from the inputs.

    Whatever this cannot do it leaves to a way with more steps: it gives None, or raises anything.
    Nothing has been written then that the caller may see but in an ``out`` of its own.
    """

    def __init__(
        self,
        function: Callable[..., None],
        arguments: Sequence[Argument],
        result: Argument,
        constants: Mapping[int, Any],
    ) -> None:
        import tvm_ffi

        self._function = function
        self._result = result
        self._constants = sorted(constants.items())
        self._sizes = [arrays.byte_count(argument) for argument in arguments]
        self._result_size = arrays.byte_count(result)
        self._tensor = tvm_ffi.from_dlpack
        # DLPack as NumPy speaks it has no bfloat16: such arrays are tensors before the call.
        self._converts = "bfloat16" in {result.dtype, *(each.dtype for each in arguments)}
        if self._converts:
            self._tensor = arrays.numpy_tensor
        # For each class of arrays that is taken what makes a result of its library.
        self._new: dict[type, Callable[[], Any]] = {}
        self._others: set[type] = set()

    def new_result(self, inputs: Sequence[Any]) -> Any | None:
        """The result as a new array of the library of the first input."""
        new = self._new
        for value in inputs:
            if type(value) not in new and not self._learn(type(value)):
                return None
        result = new[type(inputs[0])]()
        if self._converts:
            inputs = self._tensors(inputs)
            (output,) = self._tensors([result])
        else:
            output = result
        if self._constants:
            inputs = self._complete(inputs)
        self._function(*inputs, output)
        return result

    def into(self, inputs: Sequence[Any], out: Any) -> Any | None:
        """``out``, filled with the result; it overlaps none of the inputs."""
        new = self._new
        for value in (*inputs, out):
            if type(value) not in new and not self._learn(type(value)):
                return None
        if not isinstance(out, np.ndarray) and getattr(out, "requires_grad", False):
            return None
        *tensors, output = self._tensors((*inputs, out))
        start = output.data_ptr()
        end = start + self._result_size
        for tensor, size in zip(tensors, self._sizes, strict=True):
            other = tensor.data_ptr()
            if other < end and start < other + size:
                return None
        if self._constants:
            tensors = self._complete(tensors)
        self._function(*tensors, output)
        return out

    def _tensors(self, values: Sequence[Any]) -> list[Any]:
        """What has ``data_ptr``, as tensors of PyTorch and TVM have."""
        tensor = self._tensor
        return [tensor(one) if isinstance(one, np.ndarray) else one for one in values]

    def _complete(self, inputs: Sequence[Any]) -> list[Any]:
        given = list(inputs)
        for place, constant in self._constants:
            given.insert(place, constant)
        return given

    def _learn(self, kind: type) -> bool:
        """Whether a class of arrays is taken as it is."""
        if kind in self._others:
            return False
        make = self._maker(kind)
        if make is None:
            self._others.add(kind)
            return False
        self._new[kind] = make
        return True

    def _maker(self, kind: type) -> Callable[[], Any] | None:
        result = self._result
        if kind in (np.ndarray, np.memmap):
            shape, dtype = result.shape, arrays.numpy_type(result.dtype)
            return lambda: np.empty(shape, dtype)
        torch = sys.modules.get("torch")
        if torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
            # Of the ways to say what a new tensor is like, an example is read fastest. It needs no
            # memory for that.
            example = torch.empty(result.shape, dtype=getattr(torch, result.dtype), device="cpu")
            if type(example) is not torch.Tensor:
                return None  # under a mode of PyTorch's that only pretends
            example.untyped_storage().resize_(0)
            empty_like = torch.empty_like
            return lambda: empty_like(example)
        if arrays.is_tvm_class(kind):
            return lambda: arrays.new_tensor(result)
        return None
