"""Calls of kernels: with copies of arrays that have guard zones, and on the clock."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.evolve.evaluation.guards import Guarded

Run = Callable[[], tuple[Any, float]]
"""A call of a kernel: what it returned, and its seconds."""

Bind = Callable[[Sequence[Any]], Run]
"""A kernel. It is given all arguments of a call, and makes of them what the machine's own
conventions want. Of a small kernel that takes longer than the call, so it is not timed."""


def clocked(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a function returned, and its seconds by Python's clocks: the time of the processor where
    that is less than what passed, as after an interruption."""
    cpu_begun = time.process_time()
    begun = time.perf_counter()
    returned = call()
    passed = time.perf_counter() - begun
    return returned, min(passed, time.process_time() - cpu_begun)


class OutOfBoundsError(TunesmithError):
    """A kernel wrote beside its arrays."""


Memory = dict[tuple[int, int], Guarded]
"""Memory for copies of arguments, by their number and bytes. A call writes all of it anew."""

# An array that a kernel is given, the memory of its copy, and the copy.
_Used = tuple[np.ndarray[Any, Any], Guarded, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Ran:
    """A call of a kernel, and the copies that it worked on."""

    returned: Any
    seconds: float
    used: Sequence[_Used]

    def kept(self) -> Ran:
        """The same, which a call that uses the same memory does not change."""
        return replace(
            self, used=[(array, guarded, copy.copy()) for array, guarded, copy in self.used]
        )

    def write_back(self) -> None:
        """Make the arguments what the kernel made of their copies."""
        for array, _, copy in self.used:
            array[...] = copy


class GuardedKernel:
    """Calls a kernel with copies of its arrays that have guard zones. It counts the ``calls``, and
    adds up the ``seconds`` that they take, without what is done to their arguments.

    Kernels that are compared have the same ``memory``: where it lies makes a difference.
    """

    def __init__(self, bind: Bind, memory: Memory | None = None) -> None:
        self._bind = bind
        self._memory: Memory = {} if memory is None else memory
        self.reset()

    def reset(self) -> None:
        """Begin to count anew."""
        self.seconds = 0.0
        self.calls = 0

    def __call__(self, *arguments: Any) -> Any:
        """What the kernel returns; arrays become what it made of them. Raises like ``run``."""
        ran = self.run(arguments)
        ran.write_back()
        return ran.returned

    def run(self, arguments: Sequence[Any]) -> Ran:
        """Call the kernel, and leave the arguments as they are.

        Raises ``OutOfBoundsError`` if the kernel wrote beside an array, and ``UsageError`` for
        arrays that share a part of their memory; the same one may be given several times.
        """
        copies: list[Any] = list(arguments)
        used: list[_Used] = []
        for number, array in enumerate(arguments):
            if isinstance(array, np.ndarray):
                guarded = self._memory_for(number, array, used)
                copies[number] = guarded.view(array)
                used.append((array, guarded, copies[number]))
        returned, seconds = self._bind(copies)()
        self.seconds += seconds
        self.calls += 1
        if not all(guarded.intact for _, guarded, _ in used):
            raise OutOfBoundsError("it wrote beside an array")
        return Ran(returned, seconds, used)

    def _memory_for(
        self, number: int, array: np.ndarray[Any, Any], used: Sequence[_Used]
    ) -> Guarded:
        """Where the copy of an argument is: where that of the same array is, if it came before."""
        for other, guarded, _ in used:
            if np.shares_memory(array, other):
                if array.__array_interface__ != other.__array_interface__:
                    raise UsageError(
                        "two arrays of a call share a part of their memory: give it copies"
                    )
                return guarded
        key = number, array.nbytes
        if key not in self._memory:
            self._memory[key] = Guarded(array.nbytes)
        return self._memory[key]


class CallsInTurn:
    """A kernel and the ``original``: each call is one of both, and gives what the original gives.
    Who is first alternates."""

    def __init__(self, kernel: GuardedKernel, original: GuardedKernel) -> None:
        self._kernel = kernel
        self._original = original
        self._seconds: list[tuple[float, float]] = []

    def __call__(self, *arguments: Any) -> Any:
        """Raises what calls of either of them raise."""
        if self.calls % 2:
            ours, right = self._kernel.run(arguments), self._original.run(arguments)
        else:
            right = self._original.run(arguments).kept()
            ours = self._kernel.run(arguments)
        self._seconds.append((ours.seconds, right.seconds))
        right.write_back()
        return right.returned

    @property
    def calls(self) -> int:
        """How many there were of each."""
        return len(self._seconds)

    @property
    def ratio(self) -> float:
        """The time of a call as a share of the original's, in the median over all calls. A call
        weighs as much as the original takes for it."""
        ours, original = np.array(self._seconds).T
        shares = ours / np.maximum(original, sys.float_info.min)
        order = np.argsort(shares)
        weights = np.cumsum(original[order])
        return float(shares[order][np.searchsorted(weights, weights[-1] / 2)])
