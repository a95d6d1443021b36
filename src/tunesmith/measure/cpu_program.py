"""A program on this machine's processor, called and timed by TVM's runtime."""

from __future__ import annotations

from tunesmith import arrays
from tunesmith.measure import timing
from tunesmith.measure.device import BuiltProgram
from tunesmith.measure.prepared import Prepared
from tunesmith.sketches.weights import WEIGHT, with_weights


class CpuProgram:
    """A ``LoadedProgram``: what comes before the first call of ``main`` is done when it is made."""

    def __init__(self, prepared: Prepared, built: BuiltProgram) -> None:
        self._prepared = prepared
        self._module, self._main = built.module, built.main
        inputs = prepared.inputs
        if built.weights is not None:
            # What the program leaves unset there must not matter, whatever the memory held before.
            laid_out = arrays.poisoned_tensor(built.weights)
            built.prepare(inputs[WEIGHT], laid_out)
            inputs = with_weights(inputs, laid_out)
        self._arguments = [*inputs, prepared.new_output()]

    def call(self) -> None:
        self._main(*self._arguments)

    def mismatch(self) -> str | None:
        return self._prepared.mismatch(self._arguments[-1].numpy())

    def late_mismatch(self) -> str | None:
        return None  # looking at all of it takes as long as measuring

    def estimate(self, first: float, hopeless: float) -> float:
        return timing.estimate(self.call, self._time_calls, first, hopeless)

    def _time_calls(self, calls: int) -> float:
        return self.seconds(calls, 1, False)[0]

    def seconds(self, calls: int, repeats: int, flush_cache: bool) -> list[float]:
        return timing.time_repeats(self._module, self._arguments, calls, repeats, flush_cache)
