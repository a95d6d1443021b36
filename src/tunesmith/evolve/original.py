"""The program that a run begins with: what it does, and how long variants may take."""

from __future__ import annotations

import math
import time

from tunesmith.errors import TunesmithError
from tunesmith.evolve.evaluation.pool import EvaluationPool
from tunesmith.evolve.evaluation.subject import Subject
from tunesmith.evolve.search.individual import Program
from tunesmith.measure.identity import digest

# Seconds that a variant may take anyway, and how much longer than the original besides: by the
# clock, and of processor time, which others do not lengthen.
_BY_CLOCK, _BY_PROCESSOR = (1.0, 5.0), (0.1, 4.0)


def checked_original(subject: Subject, pool: EvaluationPool, allowed: float) -> Program:
    """The original, run twice, which may be so much more wrong than before; limits the time of the
    pool's variants by its own.

    Raises ``TunesmithError`` where it fails, or differs.
    """
    text = subject.representation.apply([])
    program = Program(digest(text))
    for _ in range(2):
        begun = time.monotonic()
        found = pool.evaluate(text, limit=math.inf)
        took = time.monotonic() - begun
        if not found.ran:
            raise TunesmithError(f"the original fails its tests: {found.message}")
        if found.error > found.original_error + allowed:
            raise TunesmithError(
                "the original, built again, differs by "
                f"{abs(found.error - found.original_error):.3g}: allow an --error"
            )
        program.evaluations.append(found)
    # What takes so much longer than the original is of no use, and most such programs hang.
    by_clock, by_processor = (
        patience + slower * took for patience, slower in (_BY_CLOCK, _BY_PROCESSOR)
    )
    pool.timeout = min(pool.timeout, by_clock)
    pool.processor_timeout = subject.threads * by_processor
    return program
