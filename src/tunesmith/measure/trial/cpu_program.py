"""A program on this machine's processor, called and timed by TVM's runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tunesmith.kernel import arrays
from tunesmith.measure.devices.device import BuiltProgram
from tunesmith.measure.trial import kept_weights, timing
from tunesmith.measure.trial.prepared import Prepared
from tunesmith.sketches.tir.weights import WEIGHT, with_weights


class CpuProgram:
    """A ``LoadedProgram``: what comes before the first call of ``main`` is done when it is made."""

    def __init__(self, prepared: Prepared, built: BuiltProgram, weights: Path | None) -> None:
        """``weights`` is where those that are laid out are kept."""
        self._prepared = prepared
        self._module, self._main = built.module, built.main
        inputs = prepared.inputs
        if built.weights is not None:
            assert weights is not None
            inputs = with_weights(inputs, _laid_out(inputs[WEIGHT], built, weights))
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


def _laid_out(plain: Any, built: BuiltProgram, file: Path) -> Any:
    """The weights as ``main`` takes them, by ``prepare`` or as an earlier trial has left them."""
    assert built.weights is not None
    if built.prepare is None:
        return kept_weights.load(file, built.weights)
    # What the program leaves unset there must not matter, whatever the memory held before.
    tensor = arrays.poisoned_tensor(built.weights)
    built.prepare(plain, tensor)
    kept_weights.keep(file, tensor)
    return tensor
