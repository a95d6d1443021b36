"""What there is to show of evolved programs, as plain numbers and text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ProgramRow:
    """A program of the front: how many times as fast as the original, how wrong at most, both of
    the tests and of those held out; its ``edits`` in words; what it changes, as lines of a unified
    diff; and ``remarks`` on edits that depend on each other."""

    speedup: float
    error: float
    heldout_speedup: float
    heldout_error: float
    edits: Sequence[str]
    difference: Sequence[str]
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class Step:
    """What is known after a generation: the seconds and evaluations so far, the share of these that
    are valid, the front: how many times as fast, and how wrong; and what is done after it, if that
    is not the next one."""

    number: int
    seconds: float
    evaluations: int
    valid: float
    front: Sequence[tuple[float, float]]
    doing: str = ""

    @property
    def fastest(self) -> float:
        """The largest speed-up, 1 where there is none."""
        return max((speedup for speedup, _ in self.front), default=1.0)


@dataclass(frozen=True)
class EvolveReport:
    """A run: ``outcomes`` count programs by how they ended, ``facts`` are names and texts."""

    name: str
    exact: bool
    programs: Sequence[ProgramRow]
    steps: Sequence[Step]
    evaluations: int
    seconds: float
    outcomes: Mapping[str, int] = field(default_factory=dict)
    facts: Sequence[tuple[str, str]] = ()
    commands: Sequence[str] = ()
