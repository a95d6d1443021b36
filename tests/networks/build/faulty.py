"""A sketch with estimates whose programs may fail in every way. Workers import it by its name."""

from __future__ import annotations

import os
import signal
from typing import Any, ClassVar

from tunesmith.errors import InstantiationError
from tunesmith.operators import Operator
from tunesmith.sketches import Sketch, sketches_for
from tunesmith.space import Categorical, Config, Space
from tunesmith.target import Target

CRASHES, REFUSES, BROKEN, WORKS = "crashes", "refuses", "broken", "works"
_ESTIMATES = {CRASHES: 1e-6, REFUSES: 2e-6, BROKEN: 3e-6, WORKS: 4e-6}


class Faulty(Sketch):
    """Thinks its worst config fastest. ``default`` is ``how`` the default ends."""

    name: ClassVar[str] = "faulty"
    version: ClassVar[int] = 1

    def __init__(self, *ends: str, default: str) -> None:
        self.ends, self.how = ends, default

    def supports(self, operator: Operator, target: Target) -> bool:
        return True

    def space(self, operator: Operator, target: Target) -> Space:
        return Space([Categorical("how", self.ends)])

    def default(self, operator: Operator, target: Target) -> Config:
        return Config({"how": self.how})

    def estimate(self, operator: Operator, target: Target, config: Config) -> float:
        return _ESTIMATES[str(config["how"])]

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        real = sketches_for(operator, target)[0]
        program = real.program(operator, target, real.default(operator, target))
        match config["how"]:
            case "crashes":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "refuses":
                raise InstantiationError("no such program")
            case "broken":
                return {"main": None}
        return program
