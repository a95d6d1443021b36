"""Calls of a compiled function on a user's arrays: checks, conversions, threads, the result."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.kernel import arrays
from tunesmith.kernel.direct_call import direct_call
from tunesmith.operators import Argument
from tunesmith.target import Target

# What TVM reads when a thread of the process runs its first kernel. Unset, it takes half of the
# processors, taking the other half for hyper-threads.
_THREADS_VARIABLE = "TVM_NUM_THREADS"


@dataclass(frozen=True, kw_only=True)
class Calling(ABC):
    """A compiled function, and the arrays that a caller gives to it.

    ``name`` is what messages call it. ``constants`` are tensors that the function takes at these
    places beside what the caller gives.
    """

    name: str
    function: Callable[..., None]
    arguments: Sequence[Argument]
    result: Argument
    constants: Mapping[int, Any] = field(default_factory=dict)

    @property
    @abstractmethod
    def call(self) -> Callable[[Sequence[Any], Any | None], Any]:
        """Given the inputs and ``out``: the result as a new array of the kind of the first input,
        or ``out`` filled with it.

        Raises ``UsageError`` for arrays that do not fit.
        """

    @abstractmethod
    def bind(self, inputs: Sequence[Any]) -> Callable[[], None]:
        """A call on copies of these arrays into one buffer, with nothing left to check: for timing.

        Raises ``UsageError`` for arrays that do not fit.
        """

    def complete(self, tensors: Sequence[Any]) -> list[Any]:
        """What the function takes before its result."""
        given = list(tensors)
        for place, constant in sorted(self.constants.items()):
            given.insert(place, constant)
        return given

    def check_count(self, inputs: Sequence[Any]) -> None:
        """Raises ``UsageError`` for too many or too few inputs."""
        if len(inputs) != len(self.arguments):
            names = ", ".join(argument.name for argument in self.arguments)
            plural = "s" * (len(self.arguments) != 1)
            raise UsageError(
                f"{self.name} takes {len(self.arguments)} array{plural} ({names}), "
                f"not {len(inputs)}"
            )

    def named_out(self) -> Argument:
        """The result, by the name that a caller gives it."""
        return Argument("out", self.result.shape, self.result.dtype)


@dataclass(frozen=True, kw_only=True)
class CpuCalling(Calling):
    """A function that runs on ``cores`` threads of the processor, on arrays in main memory."""

    cores: int
    #: The number of bytes at whose multiples arrays have to start.
    alignment: int = 1

    @cached_property
    def call(self) -> Callable[[Sequence[Any], Any | None], Any]:
        """As for ``Calling``. First as the arrays are, then with a look at each of them."""
        cores, used, looked_at = self.cores, _used, self._looked_at
        if self.alignment > 1:
            return looked_at
        direct = direct_call(self.function, self.arguments, self.result, self.constants)

        def call(inputs: Sequence[Any], out: Any | None) -> Any:
            try:
                if used.count != cores:
                    use_threads(cores)
                filled = direct(inputs, out)
            except Exception:  # the longer way finds out what it is, and says it
                filled = None
            return looked_at(inputs, out) if filled is None else filled

        return call

    def _looked_at(self, inputs: Sequence[Any], out: Any | None) -> Any:
        """A call with checks that name what is wrong, and copies of what cannot be used."""
        use_threads(self.cores)
        self.check_count(inputs)
        tensors = [
            arrays.input_tensor(value, argument, self.alignment)
            for value, argument in zip(inputs, self.arguments, strict=True)
        ]
        result = self.named_out()
        if out is None:
            output = arrays.new_tensor(result)
        else:
            output = arrays.output_tensor(out, result, tensors, self.alignment)
        self.function(*self.complete(tensors), output)
        if out is None:
            return arrays.like(inputs[0], output)
        arrays.store(output, out, result)
        return out

    def bind(self, inputs: Sequence[Any]) -> Callable[[], None]:
        self.check_count(inputs)
        copies = [
            arrays.copied_tensor(value, argument)
            for value, argument in zip(inputs, self.arguments, strict=True)
        ]
        use_threads(self.cores)
        return partial(self.function, *self.complete(copies), arrays.new_tensor(self.result))


def laid_out(
    weights: Any,
    argument: Argument,
    prepared: Argument | None,
    prepare: Callable[..., None] | None,
    *,
    cores: int,
    alignment: int = 1,
) -> Any:
    """Weights as ``prepare`` lays them out; a copy where there is no such function.

    Raises ``UsageError`` for an array that does not fit.
    """
    if prepared is None or prepare is None:
        return arrays.copied_tensor(weights, argument)
    weight = arrays.input_tensor(weights, argument, alignment)
    filled = arrays.poisoned_tensor(prepared)
    use_threads(cores)
    prepare(weight, filled)
    return filled


class _Used(threading.local):
    """For how many threads the pool of this thread was last set; 0 before its first kernel."""

    count = 0


_used = _Used()


def use_threads(count: int) -> None:
    """Let the kernels that this thread calls run on ``count`` threads."""
    if _used.count != count:
        import tvm

        os.environ.setdefault(_THREADS_VARIABLE, str(max(count, Target().core_count)))
        big_cores_first = 1
        tvm.get_global_func("runtime.config_threadpool")(big_cores_first, count)
        _used.count = count
