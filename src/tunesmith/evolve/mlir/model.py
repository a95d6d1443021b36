"""A model in StableHLO as what is evolved: for prediction, or a step of training."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.evolve.evaluation.harness import Tests
from tunesmith.evolve.evaluation.subject import Built
from tunesmith.evolve.evaluation.timing import PAIRS, REVISION, Goldens, Pairs, compare, goldens_of
from tunesmith.evolve.mlir.library import compiled, loaded, version
from tunesmith.evolve.mlir.representation import StableHLOCode
from tunesmith.measure.failure import FailedTrialError
from tunesmith.measure.identity import digest
from tunesmith.measurement import Outcome


@dataclass(frozen=True)
class StableHLOModule:
    """A function ``entry`` of a module of StableHLO.

    It is compiled by IREE for one thread, is given arrays, and returns an array or a tuple of them.
    ``pairs`` is how often tests are repeated.
    """

    text: str
    entry: str = "main"
    pairs: Pairs = PAIRS

    def subject(self, tests: Tests) -> StableHLOSubject:
        """What the search works on.

        Raises ``UsageError`` for a module that does not parse, and a function that is not there,
        has several blocks or operations that no edit can move; ``MissingDependencyError`` without
        IREE.
        """
        code = StableHLOCode(self.text, self.entry)
        return StableHLOSubject(self.entry, code, tests, self.pairs)


@dataclass(frozen=True)
class StableHLOSubject:
    """A function that is evolved, and its tests."""

    name: str
    representation: StableHLOCode
    tests: Tests
    pairs: Pairs
    threads: int = 1

    @cached_property
    def digest(self) -> str:
        return digest([self.representation.digest, self.tests.digest, version(), REVISION])

    def evaluator(self) -> StableHLOEvaluator:
        return StableHLOEvaluator(self)

    def callable(self, text: str) -> Callable[..., Any]:
        """A variant as a function of Python, which takes arrays and returns them."""
        bind = loaded(compiled(text), self.name)
        return lambda *arguments: bind(arguments)()[0]

    @property
    def endings(self) -> tuple[str, ...]:
        return (".mlir", ".vmfb")

    def save(self, text: str, path: Path) -> None:
        """Write a variant: as StableHLO to NAME.mlir, compiled to NAME.vmfb.

        Raises ``UsageError`` for another ending.
        """
        if path.suffix == ".mlir":
            path.write_text(text, encoding="utf-8")
        elif path.suffix == ".vmfb":
            path.write_bytes(compiled(text))
        else:
            raise UsageError(f"{path}: a variant is written to NAME.mlir or NAME.vmfb")


class StableHLOEvaluator:
    """Compiles variants, and runs them beside the original.

    This process only keeps the compiled original. A child loads both, as what runs code has threads
    of its own, which would not outlive the making of a child.
    """

    def __init__(self, subject: StableHLOSubject) -> None:
        self._subject = subject
        self._original = compiled(subject.representation.apply([]))

    def prepare(self) -> Goldens:
        subject = self._subject
        return goldens_of(loaded(self._original, subject.name), subject.tests)

    def build(self, text: str) -> Built:
        try:
            variant = compiled(text)
        except UsageError as error:
            raise FailedTrialError(Outcome.COMPILE_HOST, str(error)) from error
        return Built(variant, hashlib.sha256(variant).hexdigest())

    def evaluate(
        self, built: Built, prepared: Goldens, *, heldout: bool, limit: float
    ) -> Evaluation:
        subject = self._subject
        found = compare(
            loaded(self._original, subject.name),
            loaded(built.program, subject.name),
            subject.tests.heldout if heldout else subject.tests.search,
            subject.tests.error_of,
            prepared.heldout if heldout else prepared.search,
            limit=limit,
            pairs=subject.pairs,
        )
        return Evaluation.of(found)
