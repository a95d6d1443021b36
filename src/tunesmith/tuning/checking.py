"""What a measurer reports, before a run learns from it and keeps it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import cache

from tunesmith.measurement import Measurement

_LOGGER = logging.getLogger("tunesmith")

# Seconds that no call takes: twice the age of the universe. Costs have units of their own.
_ASTRONOMICAL = 1e18


def checked(reported: Iterable[Measurement]) -> list[Measurement]:
    """The measurements, each ``checked``. One whose call takes astronomically long counts as it is,
    as a cost may be large; it is logged, once in a process."""
    found = [measurement.checked() for measurement in reported]
    if any(it.seconds >= _ASTRONOMICAL for it in found if it.valid):
        _warn()
    return found


@cache
def _warn() -> None:
    _LOGGER.warning(
        "tunesmith: a call of %.0e seconds or more is reported; it counts: unless it is a cost, "
        "correct what measured it",
        _ASTRONOMICAL,
    )
