"""Weak compositions: ways to write a number as an ordered sum of parts >= 0.

A ``Factorization`` uses them for the exponents of one prime over its parts. They are numbered in
lexicographic order. Of the ``count(t, k)`` compositions of t into k parts, ``count(t - a, k)`` have
a first part of at least a. So ranking takes one subtraction per part, and unranking one binary
search per part, for the sum of the remaining parts.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from math import comb

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.int64]


def count(total: int, parts: int) -> int:
    """How many sequences of ``parts`` integers >= 0 sum to ``total`` (stars and bars)."""
    return comb(total + parts - 1, parts - 1)


def rank(composition: tuple[int, ...]) -> int:
    """The number of a composition among those with the same sum and length."""
    left, parts, number = sum(composition), len(composition), 0
    for part in composition:
        number += count(left, parts) - count(left - part, parts)
        left -= part
        parts -= 1
        if not left:
            break
    return number


def unrank(number: int, total: int, parts: int) -> tuple[int, ...]:
    """The inverse of ``rank``."""
    composition = []
    left = total
    for remaining in range(parts, 1, -1):
        counts = _counts(total, remaining)
        following = counts[left] - number
        kept = bisect_left(counts, following)
        number = counts[kept] - following
        composition.append(left - kept)
        left = kept
    return (*composition, left)


def unrank_many(numbers: Array, total: int, parts: int) -> Array:
    """``unrank`` of each number, shape (parts, len(numbers)). All counts must fit 64 bits."""
    compositions = np.empty((parts, len(numbers)), dtype=np.int64)
    left = np.full(len(numbers), total, dtype=np.int64)
    for place, remaining in enumerate(range(parts, 1, -1)):
        counts = np.array(_counts(total, remaining), dtype=np.int64)
        following = counts[left] - numbers
        kept = np.searchsorted(counts, following)
        numbers = counts[kept] - following
        compositions[place] = left - kept
        left = kept
    compositions[-1] = left
    return compositions


@lru_cache(maxsize=4096)
def _counts(total: int, parts: int) -> tuple[int, ...]:
    """``count(t, parts)`` for t from 0 to ``total``; ascending for two parts or more."""
    return tuple(count(left, parts) for left in range(total + 1))
