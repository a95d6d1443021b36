"""How kernels in machine code are called: by C's conventions, or by Numba's."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.evolve.evaluation.calls import Bind, Run
from tunesmith.evolve.llvm.timed_call import timed_call

_INTEGERS: dict[int, Any] = {
    1: ctypes.c_bool,
    8: ctypes.c_int8,
    16: ctypes.c_int16,
    32: ctypes.c_int32,
    64: ctypes.c_int64,
}

# What Numba's functions tell when they return a value, and when they return None.
_RETURNED = (0, -2)


class Convention(Protocol):
    """Makes a function that Python can call of one at an address."""

    def bound(self, address: int) -> Bind: ...


def c_type(type_: str) -> Any:
    """The type of ``ctypes`` for one of LLVM. Raises ``UsageError`` for one that it has not."""
    integer = re.fullmatch(r"i(\d+)", type_)
    if integer and int(integer.group(1)) in _INTEGERS:
        return _INTEGERS[int(integer.group(1))]
    known = {"float": ctypes.c_float, "double": ctypes.c_double, "ptr": ctypes.c_void_p}
    if type_ in known:
        return known[type_]
    raise UsageError(f"a kernel cannot be called with a {type_}")


@dataclass(frozen=True)
class CConvention:
    """Arrays are pointers to their first element. ``arguments`` and ``result`` are LLVM's types;
    the result may be ``void``."""

    arguments: tuple[str, ...]
    result: str

    def bound(self, address: int) -> Bind:
        result = None if self.result == "void" else c_type(self.result)
        call = timed_call(address, [*map(c_type, self.arguments)], result)

        def bind(arguments: Sequence[Any]) -> Run:
            _check_count(arguments, self.arguments)
            return partial(call, *map(_pointer, arguments))

        return bind


def _check_count(given: Sequence[Any], wanted: Sequence[Any]) -> None:
    if len(given) != len(wanted):
        raise UsageError(f"the kernel takes {len(wanted)} arguments, not {len(given)}")


def _pointer(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value.item() if isinstance(value, np.generic) else value
    if not value.flags.forc:
        raise UsageError("a kernel takes arrays without gaps: give it a copy of this one")
    return value.ctypes.data


@dataclass(frozen=True)
class ArrayType:
    """An array as Numba knows it: ``layout`` is C, F, or A for any."""

    dtype: str
    rank: int
    layout: str

    def fits(self, value: Any) -> bool:
        """Whether it is such an array."""
        if not isinstance(value, np.ndarray):
            return False
        orders = {"C": value.flags.c_contiguous, "F": value.flags.f_contiguous}
        return (str(value.dtype), value.ndim) == (self.dtype, self.rank) and orders.get(
            self.layout, True
        )

    def __str__(self) -> str:
        order = {"C": " in C's order", "F": " in Fortran's order"}.get(self.layout, "")
        return f"array of {self.dtype} with {self.rank} dimensions{order}"


@dataclass(frozen=True)
class NumbaConvention:
    """What Numba's compiled functions take: where to put the result and an exception, and then each
    array by its meta data. ``result`` is the type of the result for ``ctypes`` by name, empty for
    none; ``arguments`` are what it was compiled for.
    """

    arguments: tuple[str | ArrayType, ...]
    result: str

    def bound(self, address: int) -> Bind:
        call: Callable[..., tuple[Any, float]] | None = None

        def bind(arguments: Sequence[Any]) -> Run:
            nonlocal call
            _check_count(arguments, self.arguments)
            pairs = zip(arguments, self.arguments, strict=True)
            flat = [
                each
                for number, (value, type_) in enumerate(pairs, 1)
                for each in _flat(number, value, type_)
            ]
            returned = getattr(ctypes, self.result)() if self.result else ctypes.c_void_p()
            raised = ctypes.c_void_p()
            if call is None:
                kinds: list[Any] = [ctypes.c_void_p, ctypes.c_void_p, *map(type, flat)]
                call = timed_call(address, kinds, ctypes.c_int32)
            # References, which keep what they point to.
            called = partial(call, ctypes.byref(returned), ctypes.byref(raised), *flat)

            def run() -> tuple[Any, float]:
                status, seconds = called()
                if status not in _RETURNED:
                    raise RuntimeError("the kernel raised an exception")
                return returned.value if self.result else None, seconds

            return run

        return bind


def _flat(number: int, value: Any, type_: str | ArrayType) -> Iterator[Any]:
    """The arguments that one of Python becomes. Raises ``UsageError`` for one of another type: the
    machine code would take it for what it is not."""
    if isinstance(type_, str):
        yield getattr(ctypes, type_)(value.item() if isinstance(value, np.generic) else value)
        return
    if not type_.fits(value):
        raise UsageError(f"argument {number} must be an {type_}: the kernel was compiled for that")
    yield from (ctypes.c_void_p(), ctypes.c_void_p())  # it belongs to nobody whom Numba knows
    yield from (ctypes.c_int64(value.size), ctypes.c_int64(value.itemsize))
    yield ctypes.c_void_p(value.ctypes.data)
    yield from map(ctypes.c_int64, value.shape)
    yield from map(ctypes.c_int64, value.strides)
