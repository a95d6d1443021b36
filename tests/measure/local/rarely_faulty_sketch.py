"""Ten thousand configs of which one in twenty misbehaves, in every way there is."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.measure.local.faulty_sketch import FAULTS, FaultySketch
from tests.measure.local.faulty_sketch import config as faulty
from tunesmith.operators import Operator
from tunesmith.space import Config, Ordinal, Space
from tunesmith.target import Target

TRIALS = 10_000
_ONE_IN = 20
# Those of whole servers come with the others: a new server takes a second.
_WAYS = (*FAULTS, "kill_worker", "kill_worker_in_build")


def fault_of(number: int) -> str:
    """What goes wrong with a config: each way in its turn."""
    turn, healthy = divmod(number, _ONE_IN)
    return "none" if healthy else _WAYS[turn % len(_WAYS)]


class RarelyFaulty(FaultySketch):
    """``number`` says what goes wrong."""

    name: ClassVar[str] = "rarely_faulty"

    def space(self, operator: Operator, target: Target) -> Space:
        return Space([Ordinal("number", tuple(range(TRIALS)))])

    def default(self, operator: Operator, target: Target) -> Config:
        return Config({"number": 1})

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        number = config["number"]
        assert isinstance(number, int)
        return super().program(operator, target, faulty(fault_of(number)))
