"""Ways to write a number as an ordered sum: the exponents of one prime over the parts of a split.

They are numbered in lexicographic order. With ``count(t, k)`` compositions of t into k parts, those
whose first part is at least a are ``count(t - a, k)``. So ranking takes one subtraction a part, and
unranking one binary search a part, for what is left once that part is taken off.
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
    """The number of a composition among those of the same sum and length."""
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
    """``unrank`` of each number; shape (parts, len(numbers)). All counts have to fit 64 bits."""
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
    """``count(t, parts)`` for t from 0 to ``total``, which grows with t for two parts or more."""
    return tuple(count(left, parts) for left in range(total + 1))
