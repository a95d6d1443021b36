"""Machine code that calls a kernel between two looks at the clock.

A small kernel takes a few microseconds, as Python's way to a function of C does, which would be
timed with it otherwise.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tunesmith.evolve.llvm.build import Machine

# The smaller of both is the time of a call: an interruption is no time of the processor, and the
# clock of the processor takes longer to look at.
_CLOCKS = (time.CLOCK_PROCESS_CPUTIME_ID, time.CLOCK_MONOTONIC)

_WORD = 32


class _Moment(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64))


def timed_call(
    address: int, arguments: Sequence[Any], result: Any
) -> Callable[..., tuple[Any, float]]:
    """A function at an address, which takes and returns what ``ctypes`` says; None is no result.

    It returns the seconds of each call as well.
    """
    machine = _caller(tuple(map(_type, arguments)), "void" if result is None else _type(result))
    kinds: list[Any] = [ctypes.c_void_p, ctypes.c_void_p, *arguments]
    function = ctypes.CFUNCTYPE(result, *kinds)(machine.address)

    def call(*given: Any) -> tuple[Any, float]:
        moments = (_Moment * (2 * len(_CLOCKS)))()
        returned = function(address, ctypes.addressof(moments), *given)
        spans = zip(moments[: len(_CLOCKS)], reversed(moments[len(_CLOCKS) :]), strict=True)
        return returned, min(_seconds(begun, ended) for begun, ended in spans)

    return call


def _seconds(begun: _Moment, ended: _Moment) -> float:
    nanoseconds = (ended.seconds - begun.seconds) * 10**9 + ended.nanoseconds - begun.nanoseconds
    return float(nanoseconds) / 1e9


def _type(type_: Any) -> str:
    """LLVM's type for one of ``ctypes``. Small integers take a word, as ``ctypes`` passes them."""
    if type_ in (ctypes.c_float, ctypes.c_double):
        return "float" if type_ is ctypes.c_float else "double"
    if type_ is ctypes.c_void_p:
        return "ptr"
    return f"i{max(8 * ctypes.sizeof(type_), _WORD)}"


@cache
def _caller(arguments: tuple[str, ...], result: str) -> Machine:
    """What is given a function, room for the clocks, and what the function is given."""
    names = ["ptr %function", "ptr %clocks"]
    names += [f"{type_} %a{number}" for number, type_ in enumerate(arguments)]
    given = ", ".join(names[2:])
    looks = [
        f"  %c{slot} = getelementptr i8, ptr %clocks, i64 {slot * ctypes.sizeof(_Moment)}\n"
        f"  call i32 @clock_gettime(i32 {clock}, ptr %c{slot})"
        for slot, clock in enumerate((*_CLOCKS, *reversed(_CLOCKS)))
    ]
    value = "" if result == "void" else "%returned = "
    return Machine(
        "\n".join(
            (
                "declare i32 @clock_gettime(i32, ptr)",
                f"define {result} @timed_call({', '.join(names)}) {{",
                *looks[: len(_CLOCKS)],
                f"  {value}call {result} %function({given})",
                *looks[len(_CLOCKS) :],
                f"  ret {result}{' %returned' if value else ''}",
                "}",
            )
        ),
        "timed_call",
    )
