"""Compares two programs in turn, each in its own process, and reports the median ratio."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tunesmith.bench.timing.rotation import ratio_of, rotate
from tunesmith.errors import TunesmithError


@dataclass(frozen=True)
class Comparison:
    """How two programs compare. ``ratio`` above 1: the first one is faster.

    ``low`` and ``high`` bound the median ratio with 95 % confidence. ``first`` and ``second`` are
    the median seconds of a call while taking turns; ``first_alone`` and ``second_alone`` those of
    a run by itself, as a check that the sides did not disturb each other.
    """

    ratio: float
    low: float
    high: float
    first: float
    second: float
    first_alone: float
    second_alone: float
    pairs: int


def compare(
    module: str, first: Mapping[str, Any], second: Mapping[str, Any], pairs: int = 25
) -> Comparison:
    """Time two sides, whose processes run the ``module``, in turn, ``pairs`` rounds each, after a
    run of each by itself.

    Raises ``TunesmithError`` if a side cannot run.
    """
    rotation = rotate(module, {"first": first, "second": second}, pairs)
    for reason in rotation.failed.values():
        raise TunesmithError(reason)
    one, two = rotation.turns["first"], rotation.turns["second"]
    found = ratio_of(two, one)
    return Comparison(
        ratio=found.ratio,
        low=found.low,
        high=found.high,
        first=one.seconds,
        second=two.seconds,
        first_alone=one.alone,
        second_alone=two.alone,
        pairs=pairs,
    )
