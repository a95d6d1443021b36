"""Calls a compiled function on the caller's arrays: checks, conversions, threads, the result."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from tunesmith.compiler.thread_pool import default_pool_threads
from tunesmith.errors import UsageError
from tunesmith.kernel import arrays
from tunesmith.kernel.direct_call import direct_call
from tunesmith.operators import Argument
from tunesmith.target import Target


@dataclass(frozen=True, kw_only=True)
class Calling(ABC):
    """A compiled function that takes the caller's arrays.

    ``name`` is its name in messages. ``constants`` maps argument positions to tensors that are
    passed there in addition to the caller's.
    """

    name: str
    function: Callable[..., None]
    arguments: Sequence[Argument]
    result: Argument
    constants: Mapping[int, Any] = field(default_factory=dict)

    @property
    @abstractmethod
    def call(self) -> Callable[[Sequence[Any], Any | None], Any]:
        """Given the inputs and ``out``: fills and returns ``out``, or if that is None a new array
        of the first input's library.

        Raises ``UsageError`` for arrays that do not fit.
        """

    @abstractmethod
    def bind(self, inputs: Sequence[Any]) -> Callable[[], None]:
        """A call without checks on copies of these arrays, into one buffer: for timing.

        Raises ``UsageError`` for arrays that do not fit.
        """

    def complete(self, tensors: Sequence[Any]) -> list[Any]:
        """The function's arguments before its result: ``tensors`` and ``constants``."""
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
        """The result, under the name of the caller's parameter."""
        return Argument("out", self.result.shape, self.result.dtype)


@dataclass(frozen=True, kw_only=True)
class CpuCalling(Calling):
    """A function that runs on ``cores`` threads, on arrays in main memory.

    Arrays must start at multiples of ``alignment`` bytes; others are copied.
    """

    cores: int
    alignment: int = 1

    @cached_property
    def call(self) -> Callable[[Sequence[Any], Any | None], Any]:
        """As for ``Calling``. Tries a direct call first, then one that checks each array."""
        cores, pool, checked = self.cores, _pool, self._checked
        if self.alignment > 1:
            return checked
        direct = direct_call(self.function, self.arguments, self.result, self.constants)

        def call(inputs: Sequence[Any], out: Any | None) -> Any:
            try:
                if pool.threads != cores:
                    use_threads(cores)
                filled = direct(inputs, out)
            except Exception:  # the checked call finds and reports the reason
                filled = None
            return checked(inputs, out) if filled is None else filled

        return call

    def _checked(self, inputs: Sequence[Any], out: Any | None) -> Any:
        """Checks each array, copies those that TVM cannot use, and calls."""
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
    """The weights as ``prepare`` lays them out, or a copy if there is no such function.

    Raises ``UsageError`` for an array that does not fit.
    """
    if prepared is None or prepare is None:
        return arrays.copied_tensor(weights, argument)
    weight = arrays.input_tensor(weights, argument, alignment)
    filled = arrays.poisoned_tensor(prepared)
    use_threads(cores)
    prepare(weight, filled)
    return filled


class _Pool(threading.local):
    """The size last set for the calling thread's TVM thread pool; 0 before its first kernel."""

    threads = 0


_pool = _Pool()


def use_threads(count: int) -> None:
    """Run the kernels that the calling thread starts on ``count`` threads."""
    if _pool.threads != count:
        import tvm_ffi

        default_pool_threads(max(count, Target().core_count))
        big_cores_first = 1
        tvm_ffi.get_global_func("runtime.config_threadpool")(big_cores_first, count)
        _pool.threads = count
