"""What evolving gives: a front of programs, faster ones with larger errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, overload

from tunesmith.errors import UsageError
from tunesmith.evolve.edit import Edit
from tunesmith.evolve.evaluation.subject import Subject
from tunesmith.evolve.search.minimize import Dependence


@dataclass(frozen=True)
class Point:
    """A program of the front. It is called in place of the original function.

    ``ratio`` is its time by that of the original, ``error`` the largest of the tests; the
    ``heldout`` ones are of tests that the search has not seen. ``dependences`` are those among its
    edits, None where nobody looked.
    """

    subject: Subject
    edits: tuple[Edit, ...]
    ratio: float
    error: float
    heldout_ratio: float
    heldout_error: float
    dependences: Sequence[Dependence] | None = None

    @property
    def speedup(self) -> float:
        """How many times as fast as the original."""
        return 1.0 / self.ratio

    @cached_property
    def text(self) -> str:
        """The program."""
        return self.subject.representation.apply(self.edits)

    @cached_property
    def difference(self) -> list[str]:
        """What is other than in the original, as lines of a unified diff."""
        return self.subject.representation.difference(self.edits)

    @cached_property
    def _function(self) -> Any:
        return self.subject.callable(self.text)

    def __call__(self, *arguments: Any) -> Any:
        """Call it as the original is called. Nothing guards it: it has passed its tests."""
        return self._function(*arguments)

    def save(self, path: str | Path) -> None:
        """Write it to a file; its ending says how. Raises ``UsageError`` for one that it does not
        know, and where it cannot be written."""
        target = Path(path)
        try:
            self.subject.save(self.text, target)
        except OSError as error:
            raise UsageError(f"cannot write {target}: {error.strerror}") from error

    def to_json(self) -> dict[str, Any]:
        """JSON-ready figures; an error that is infinite is None."""
        return {
            "speedup": self.speedup,
            "error": _finite(self.error),
            "heldout_speedup": 1.0 / self.heldout_ratio,
            "heldout_error": _finite(self.heldout_error),
            "edits": [edit.to_json() for edit in self.edits],
            "words": self.subject.representation.describe(self.edits),
            "difference": self.difference,
            "dependences": [
                {**asdict(each), "alone": _finite(each.alone), "together": _finite(each.together)}
                for each in self.dependences or ()
            ],
        }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


@dataclass(frozen=True)
class Generation:
    """What was known after a generation: the seconds and evaluations until then, the share of these
    that were valid, and the front, as pairs of ratio and error."""

    seconds: float
    evaluations: int
    valid: float
    front: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Front(Sequence[Point]):
    """The programs that nothing else beats, the fastest first; empty where nothing beats the
    original. ``history`` has the generations, ``outcomes`` how many programs ended how,
    ``stopped`` why the search ended, and ``doubts`` what speaks against it, in a line each.
    ``evaluations`` and ``seconds`` are of this run; it went on from ``earlier`` evaluations."""

    subject: Subject
    points: Sequence[Point]
    evaluations: int
    seconds: float
    stopped: str
    history: Sequence[Generation] = ()
    outcomes: Mapping[str, int] = field(default_factory=dict)
    doubts: Sequence[str] = ()
    earlier: int = 0

    def __len__(self) -> int:
        return len(self.points)

    @overload
    def __getitem__(self, index: int) -> Point: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Point]: ...

    def __getitem__(self, index: int | slice) -> Point | Sequence[Point]:
        return self.points[index]

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)
