"""What is evolved: a program in some representation, its tests, and who runs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.evolve.evaluation.harness import Tests
from tunesmith.evolve.representation import Representation


@dataclass(frozen=True)
class Built:
    """A variant that can be run. Programs of the same ``code`` are the same to the machine."""

    program: Any
    code: str


class Evaluator(Protocol):
    """Runs variants of a program beside the original. It lives in a process of its own, which makes
    a child for each variant: one that crashes, hangs or writes anywhere costs itself alone."""

    def prepare(self) -> Any:
        """What evaluations need to know of the original, which is run for it in a child of its own.
        It can be pickled. What is raised is wrong with the original, or with its tests."""

    def build(self, text: str) -> Built:
        """Build a variant.

        What it raises costs the variant: ``FailedTrialError`` says of which class, anything else is
        a failed run. The same is true of ``evaluate``.
        """

    def evaluate(self, built: Built, prepared: Any, *, heldout: bool, limit: float) -> Evaluation:
        """Run the tests, or those that the search never sees.

        A variant whose error is above the limit need not be timed well.
        """


class Subject(Protocol):
    """A program with its tests. It is pickled: ``evaluator`` is called in another process."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def representation(self) -> Representation:
        """How it is edited."""

    @property
    def digest(self) -> str:
        """Of the original and the tests: evaluations of others say nothing of these."""

    @property
    def threads(self) -> int:
        """How many threads it runs on: so many cores are left to each of its variants."""

    def evaluator(self) -> Evaluator:
        """Who runs it. Raises ``TunesmithError`` for a program that cannot be built."""

    def callable(self, text: str) -> Callable[..., Any]:
        """A variant as a function of Python, which is called as the original is."""

    @property
    def endings(self) -> tuple[str, ...]:
        """Of the files that ``save`` writes."""

    def save(self, text: str, path: Path) -> None:
        """Write a variant to a file. Raises ``UsageError`` for an ending that it does not know."""


class Evolvable(Protocol):
    """A program that can be evolved once there are tests."""

    def subject(self, tests: Tests) -> Subject:
        """What the search works on. Raises ``UsageError`` for a program that cannot be read."""
