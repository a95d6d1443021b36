"""A program on this machine's CPU, called and timed by TVM's runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt

from tunesmith.compiler.thread_pool import keep_off_bound_processors
from tunesmith.kernel import arrays
from tunesmith.measure.devices.device import BuiltProgram
from tunesmith.measure.trial import timing, weight_cache
from tunesmith.sketches.tir.weights import WEIGHT, with_weights


class ProgramData(Protocol):
    """What a program reads and is compared with; see ``Prepared``."""

    @property
    def inputs(self) -> list[Any]: ...

    def new_output(self) -> Any: ...

    def mismatch(self, output: npt.NDArray[Any]) -> str | None: ...


class CpuProgram:
    """A ``LoadedProgram``. The constructor does all work before the first call of ``main``."""

    def __init__(self, data: ProgramData, built: BuiltProgram, weights: Path | None) -> None:
        """``weights`` is the file that caches prepared weights."""
        self._data = data
        self._module, self._main = built.module, built.main
        inputs = data.inputs
        if built.weights is not None:
            assert weights is not None
            inputs = with_weights(inputs, _laid_out(inputs[WEIGHT], built, weights))
        self._arguments = [*inputs, data.new_output()]

    def call(self) -> None:
        self._main(*self._arguments)

    def mismatch(self) -> str | None:
        return self._data.mismatch(self._arguments[-1].numpy())

    def late_mismatch(self) -> str | None:
        return None  # checking all of the output takes as long as measuring

    def estimate(self, first: float, hopeless: float) -> float:
        keep_off_bound_processors()
        return timing.estimate(self.call, self._time_calls, first, hopeless)

    def _time_calls(self, calls: int) -> float:
        return self.seconds(calls, 1, False)[0]

    def seconds(self, calls: int, repeats: int, flush_cache: bool) -> list[float]:
        return timing.time_repeats(self._module, self._arguments, calls, repeats, flush_cache)


def _laid_out(plain: Any, built: BuiltProgram, file: Path) -> Any:
    """The prepared weights, from ``prepare`` or from the cache."""
    assert built.weights is not None
    if built.prepare is None:
        return weight_cache.load(file, built.weights)
    # If the program reads elements that it did not write, its output must be wrong.
    tensor = arrays.poisoned_tensor(built.weights)
    built.prepare(plain, tensor)
    weight_cache.store(file, tensor)
    return tensor
