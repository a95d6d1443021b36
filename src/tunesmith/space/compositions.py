"""Ways to write a number as an ordered sum: the exponents of one prime over the parts of a split.

They are numbered in lexicographic order. With ``count(t, k)`` compositions of t into k parts, those
whose first part is at least a are ``count(t - a, k)``, so ranking takes one subtraction a part.
"""

from __future__ import annotations

from itertools import chain, combinations
from math import comb

import numpy as np
import numpy.typing as npt


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
        everything = count(left, remaining)
        part = 0
        while part < left and everything - count(left - part - 1, remaining) <= number:
            part += 1
        number -= everything - count(left - part, remaining)
        composition.append(part)
        left -= part
    return (*composition, left)


def table(total: int, parts: int) -> npt.NDArray[np.int64]:
    """All compositions, in order of their number; shape (count, parts)."""
    bars = parts - 1
    rows = count(total, parts)
    places = combinations(range(total + bars), bars)
    flat = np.fromiter(chain.from_iterable(places), dtype=np.int64, count=rows * bars)
    edges = np.full((rows, parts + 1), -1, dtype=np.int64)
    edges[:, 1:-1] = flat.reshape(rows, bars)
    edges[:, -1] = total + bars
    return np.asarray(np.diff(edges, axis=1) - 1)
