"""Reductions of the lanes of vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tunesmith.sketches.tir import emit, shuffles
from tunesmith.sketches.tir.registers import Kept

Combine = Callable[[Any, Any], Any]


def added(value: Any, other: Any) -> Any:
    """A sum, as a ``Combine``."""
    return value + other


def together(vectors: Sequence[Any], combine: Combine) -> Any:
    """Several vectors combined lane by lane, in pairs."""
    left = list(vectors)
    while len(left) > 1:
        pairs = [combine(*left[at : at + 2]) for at in range(0, len(left) - 1, 2)]
        left = pairs + left[len(left) - len(left) % 2 :]
    return left[0]


def across(vector: Any, lanes: int, combine: Combine, kept: Kept) -> Any:
    """The lanes of a vector, a power of two of them, combined into a scalar."""
    while lanes > 1:
        vector = kept("part", vector, lanes)
        lanes //= 2
        low, high = (
            shuffles.shuffled([vector], range(first, first + lanes)) for first in (0, lanes)
        )
        vector = combine(low, high)
    return kept("all", vector, 1)


def last_lanes(vector: Any, count: int, lanes: int, dtype: str) -> Any:
    """A vector with 0 in all but its last ``count`` lanes."""
    if count == lanes:
        return vector
    zero = emit.constant(0, dtype, lanes)
    picks = [lane if lane >= lanes - count else lanes + lane for lane in range(lanes)]
    return shuffles.shuffled([vector, zero], picks)
