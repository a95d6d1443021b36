"""How many random edits of the cases' programs are valid, and how long an edit takes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

from tunesmith.bench.gevo.case import Case
from tunesmith.bench.pages.provenance import origin_now
from tunesmith.errors import UsageError
from tunesmith.evolve.edit import InvalidEditError
from tunesmith.evolve.evaluation.harness import Tests
from tunesmith.evolve.llvm.build import parse
from tunesmith.evolve.llvm.representation import LLVMCode
from tunesmith.evolve.mlir.library import checked
from tunesmith.evolve.representation import Representation


def drawn_edits(cases: list[Case], tries: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """A row for each case: of so many edits of its program, the number of ``valid`` ones, and the
    ``milliseconds`` of one, to draw, apply and verify it.

    Raises ``MissingDependencyError`` where a case needs what is not installed.
    """
    for case in cases:
        tested = case.make()
        subject = tested.program.subject(Tests.of(tested.tests, tested.heldout, tested.error_of))
        found = draw(subject.representation, tries, seed)
        yield {"case": case.name, **found, "origin": origin_now()}


def draw(code: Representation, tries: int, seed: int) -> dict[str, Any]:
    """The figures of one program. Valid is what changes it, and what its compiler verifies."""
    verify: Callable[[str], Any] = parse if isinstance(code, LLVMCode) else checked
    original, chance = code.apply([]), random.Random(seed)
    verify(original)  # so that what is loaded by this is
    valid = 0
    begun = time.perf_counter()
    for _ in range(tries):
        try:
            text = code.apply([code.draw([], chance)])
            verify(text)
        except (InvalidEditError, UsageError):
            continue
        valid += text != original
    seconds = time.perf_counter() - begun
    return {"tries": tries, "valid": valid, "milliseconds": 1e3 * seconds / tries}
