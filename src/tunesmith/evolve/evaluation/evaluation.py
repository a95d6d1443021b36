"""What came of running a program with edits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from tunesmith.evolve.evaluation.timing import Compared
from tunesmith.measurement import Outcome


@dataclass(frozen=True)
class Evaluation:
    """``ratio`` is the time of the tests by that of the original, ``seconds`` the time itself:
    medians over pairs of runs of both. ``error`` is the largest of all tests. All are infinite for
    a program that failed, and ``message`` says why in one line. Of one that ran and is above the
    limit of the error the ratio is infinite, and the error, unless it was the last test, in its
    first run, that showed it. ``original_error`` is that of the original beside it, by the same
    measure. ``code`` is a digest of its machine code, empty where there is none; what is
    ``repeated`` was not run: it is of another program with the same code.
    """

    outcome: Outcome
    ratio: float = math.inf
    seconds: float = math.inf
    error: float = math.inf
    message: str = ""
    original_error: float = 0.0
    code: str = field(default="", compare=False)
    repeated: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, compared: Compared) -> Self:
        """That of a program that ran."""
        return cls(Outcome.NO_ERROR, **asdict(compared))

    @property
    def ran(self) -> bool:
        """Whether it gave results, right or wrong."""
        return self.outcome is Outcome.NO_ERROR

    def within(self, limit: float) -> bool:
        """Whether it ran and its error is no larger than a limit."""
        return self.ran and self.error <= limit

    def to_json(self) -> dict[str, Any]:
        """JSON-ready; infinite numbers are null."""
        values = {**asdict(self), "outcome": self.outcome.value}
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in values.items()
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``."""
        numbers = {
            name: math.inf if value[name] is None else float(value[name])
            for name in ("ratio", "seconds", "error", "original_error")
        }
        return cls(
            Outcome(value["outcome"]),
            message=str(value["message"]),
            code=str(value["code"]),
            repeated=bool(value["repeated"]),
            **numbers,
        )
