"""Configs as sentences: sequences of tokens, of which there are few at each place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tunesmith.space import Config, Space
from tunesmith.space.compositions import count as compositions
from tunesmith.tuners.vectors import Exponents, Ints, Numbering, Order, Vectors

Floats64 = npt.NDArray[np.float64]

# A number with more values than this is written in several digits.
_MOST_TOKENS = 64


class Spelling(Protocol):
    """How a parameter's vector is written. ``sizes`` says how many tokens there are at a place."""

    sizes: tuple[int, ...]

    def write(self, numbers: Sequence[int]) -> list[int]:
        """The tokens of a vector, one a place."""

    def read(self, tokens: Sequence[int]) -> list[int]:
        """The vector that tokens stand for."""

    def ways(self, tokens: Ints) -> Floats64:
        """The logarithm of how many values go on with each token, shape (batch, tokens).

        ``tokens`` are those so far, shape (batch, place). What no value goes on with has -infinity.
        """


class ExponentSpelling:
    """A factorization part by part: for each prime its exponent there. The last part is what is
    left."""

    def __init__(self, numbering: Exponents) -> None:
        self.parts, self.totals = numbering.parts, numbering.totals
        self.sizes = tuple(total + 1 for total in self.totals) * (self.parts - 1)

    def write(self, numbers: Sequence[int]) -> list[int]:
        return list(numbers[: len(self.sizes)])

    def read(self, tokens: Sequence[int]) -> list[int]:
        primes = len(self.totals)
        spent = [sum(tokens[prime::primes]) for prime in range(primes)]
        return [*tokens, *(total - out for total, out in zip(self.totals, spent, strict=True))]

    def ways(self, tokens: Ints) -> Floats64:
        primes = len(self.totals)
        part, prime = divmod(tokens.shape[1], primes)
        total = self.totals[prime]
        left = total - tokens[:, prime::primes].sum(axis=1)
        rows: Floats64 = _exponent_ways(total, self.parts - part - 1)[left]
        return rows


@lru_cache(maxsize=4096)
def _exponent_ways(total: int, parts: int) -> Floats64:
    """Entry (left, e): the logarithm of how many ways e less than ``left`` is spread over parts."""
    ways = np.full((total + 1, total + 1), -np.inf)
    for left in range(total + 1):
        for exponent in range(left + 1):
            ways[left, exponent] = math.log(compositions(left - exponent, parts))
    return ways


class OrderSpelling:
    """A permutation item by item; the last one is what is left."""

    def __init__(self, numbering: Order) -> None:
        self.items = len(numbering.items)
        self.sizes = (self.items,) * (self.items - 1)

    def write(self, numbers: Sequence[int]) -> list[int]:
        return list(numbers[: len(self.sizes)])

    def read(self, tokens: Sequence[int]) -> list[int]:
        return [*tokens, *set(range(self.items)).difference(tokens)]

    def ways(self, tokens: Ints) -> Floats64:
        ways = np.zeros((len(tokens), self.items))
        np.put_along_axis(ways, tokens.astype(np.int64), -np.inf, axis=1)
        return ways


class NumberSpelling:
    """A number in as few digits as there can be with no more than 64 tokens each."""

    def __init__(self, count: int) -> None:
        digits = 0
        while _MOST_TOKENS**digits < count:
            digits += 1
        self.base = 1
        while self.base**digits < count:
            self.base += 1
        self.last = count - 1
        self._scales = [self.base**place for place in reversed(range(digits))]
        self.sizes = tuple(min(self.base, self.last // scale + 1) for scale in self._scales)

    def write(self, numbers: Sequence[int]) -> list[int]:
        return [numbers[0] // scale % self.base for scale in self._scales]

    def read(self, tokens: Sequence[int]) -> list[int]:
        return [sum(token * scale for token, scale in zip(tokens, self._scales, strict=True))]

    def ways(self, tokens: Ints) -> Floats64:
        place = tokens.shape[1]
        scale = self._scales[place]
        begun = tokens @ np.array([s // scale for s in self._scales[:place]], dtype=np.int64)
        first = (begun[:, None] + np.arange(self.sizes[place])) * scale
        # Of the scale numbers that begin so, those beyond the last one do not exist.
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.clip(self.last + 1 - first, 0, scale)))


def _spelling(numbering: Numbering) -> Spelling:
    if isinstance(numbering, Exponents):
        return ExponentSpelling(numbering)
    if isinstance(numbering, Order):
        return OrderSpelling(numbering)
    return NumberSpelling(numbering.sizes[0])


class Place(NamedTuple):
    """A place in the sentences: which spelling it belongs to, and where that begins."""

    spelling: Spelling
    begin: int
    size: int


class Tokens:
    """The sentences of a space's configs: those of its parameters, one after the other.

    Their length is the number of ``places``; at none are there more than ``most`` tokens.
    """

    def __init__(self, space: Space) -> None:
        self.vectors = Vectors(space)
        self._spellings = [_spelling(segment.numbering) for segment in self.vectors.segments]
        self.places = tuple(self._places())
        self.most = max((place.size for place in self.places), default=0)

    def __len__(self) -> int:
        return len(self.places)

    def _places(self) -> Iterator[Place]:
        begin = 0
        for spelling in self._spellings:
            for size in spelling.sizes:
                yield Place(spelling, begin, size)
            begin += len(spelling.sizes)

    def write(self, config: Config) -> Ints:
        """The tokens of a config, shape (places,)."""
        tokens: list[int] = []
        for segment, spelling in zip(self.vectors.segments, self._spellings, strict=True):
            tokens += spelling.write(segment.numbering.numbers(config[segment.parameter.name]))
        return np.array(tokens, dtype=np.int32)

    def read(self, tokens: Ints) -> Config:
        """The config of a sentence, whether or not it meets the constraints."""
        numbers: list[int] = []
        listed, begin = tokens.tolist(), 0
        for spelling in self._spellings:
            end = begin + len(spelling.sizes)
            numbers += spelling.read(listed[begin:end])
            begin = end
        return self.vectors.config(np.array(numbers, dtype=np.int32))

    def ways(self, tokens: Ints) -> Floats64:
        """How many values of a parameter go on with each token, shape (batch, ``most``), as logs.

        ``tokens`` are those so far, shape (batch, place). -infinity has what is not a token there.
        """
        spelling, begin, size = self.places[tokens.shape[1]]
        ways = np.full((len(tokens), self.most), -np.inf)
        ways[:, :size] = spelling.ways(tokens[:, begin:])
        return ways
