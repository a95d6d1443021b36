"""Kernels in Python, which double an array, or do not."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from typing import Any

from tunesmith.evolve.evaluation.calls import Bind, Run, clocked

Function = Callable[[Sequence[Any]], Any]


def bound(function: Function) -> Bind:
    """A kernel in Python."""

    def bind(arguments: Sequence[Any]) -> Run:
        return lambda: clocked(lambda: function(arguments))

    return bind


def doubled(arguments: Sequence[Any]) -> None:
    arguments[0][...] *= 2


def wrong(arguments: Sequence[Any]) -> None:
    arguments[0][...] *= 3


def slow(arguments: Sequence[Any]) -> None:
    ends = time.process_time() + 0.002
    while time.process_time() < ends:
        pass
    arguments[0][...] *= 2


def outside(arguments: Sequence[Any]) -> None:
    array = arguments[0]
    ctypes.memset(array.ctypes.data + array.nbytes, 0, 1)
