"""A CPU elsewhere, for which programs are built here, as shared libraries."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tunesmith.compiler.compile import compiled
from tunesmith.compiler.libraries import link
from tunesmith.measure.devices.device import Build, BuiltProgram, small_schedule
from tunesmith.sketches.tir.weights import prepared_weights


class CrossDevice:
    """A ``Device``; ``linker`` is the command that links for it.

    The ``code`` of what it builds is the path of the ``library``, the fields of the ``weights``, if
    it prepares them, and the name of the file that these may be kept in (``prepare``).
    """

    def __init__(self, linker: Sequence[str]) -> None:
        self._linker = linker

    def warm_up(self, target: Any) -> None:
        schedule = small_schedule()
        _, j, _ = schedule.get_loops(schedule.get_sblock("b"))
        schedule.vectorize(j)
        built = self.build(Build(schedule.mod, target, "warm-up"))
        assert built.code is not None
        Path(built.code["library"]).unlink()

    def build(self, build: Build) -> BuiltProgram:
        build.program["main"]  # or the device would be the first to miss it
        weights = prepared_weights(build.program)
        executable = compiled(build.program, build.target, checked=False)
        with tempfile.NamedTemporaryFile(suffix=".so", delete=False) as file:
            library = Path(file.name)
        link(executable, library, linker=self._linker)
        code = {
            "library": str(library),
            "weights": None if weights is None else dataclasses.asdict(weights),
            "prepare": None if build.weights is None else f"prepared-{build.weights.name}",
        }
        return BuiltProgram(weights=weights, code=code)

    def compile_check(self, *_: Any) -> None:
        """NumPy compares, on the device."""
