"""Configs as sentences: sequences of tokens, of which there are few at each place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tunesmith.features.ties import Tie, ties_of
from tunesmith.features.vectors import Exponents, Ints, Numbering, Order, Reals, Segment, Vectors
from tunesmith.space import Config, Space
from tunesmith.space.enumeration.join import Join, JoinLimitError
from tunesmith.space.parameters.compositions import count as compositions

# A number with more values than this is written in several digits.
_MOST_TOKENS = 64

# The valid combinations of parameters that constraints tie together are listed if none of them has
# more values than this, and no more combinations than that need to be looked at: half a second.
_MOST_VALUES = 1 << 16
_MOST_LOOKED_AT = 1 << 21


class Encoding(Protocol):
    """How a parameter's vector is written. ``sizes`` says how many tokens there are at a place."""

    sizes: tuple[int, ...]

    def write(self, numbers: Sequence[int]) -> list[int]:
        """The tokens of a vector, one a place."""

    def read(self, tokens: Sequence[int]) -> list[int]:
        """The vector that tokens stand for."""

    def ways(self, tokens: Ints) -> Reals:
        """The logarithm of how many values go on with each token, shape (batch, tokens).

        ``tokens`` are those so far, shape (batch, place). What no value goes on with has -infinity.
        """


class ExponentEncoding:
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

    def ways(self, tokens: Ints) -> Reals:
        primes = len(self.totals)
        part, prime = divmod(tokens.shape[1], primes)
        total = self.totals[prime]
        left = total - tokens[:, prime::primes].sum(axis=1)
        rows: Reals = _exponent_ways(total, self.parts - part - 1)[left]
        return rows


@lru_cache(maxsize=4096)
def _exponent_ways(total: int, parts: int) -> Reals:
    """Entry (left, e): the logarithm of how many ways e less than ``left`` is spread over parts."""
    ways = np.full((total + 1, total + 1), -np.inf)
    for left in range(total + 1):
        for exponent in range(left + 1):
            ways[left, exponent] = math.log(compositions(left - exponent, parts))
    return ways


class OrderEncoding:
    """A permutation item by item; the last one is what is left."""

    def __init__(self, numbering: Order) -> None:
        self.items = len(numbering.items)
        self.sizes = (self.items,) * (self.items - 1)

    def write(self, numbers: Sequence[int]) -> list[int]:
        return list(numbers[: len(self.sizes)])

    def read(self, tokens: Sequence[int]) -> list[int]:
        return [*tokens, *set(range(self.items)).difference(tokens)]

    def ways(self, tokens: Ints) -> Reals:
        ways = np.zeros((len(tokens), self.items))
        np.put_along_axis(ways, tokens.astype(np.int64), -np.inf, axis=1)
        return ways


class NumberEncoding:
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

    def ways(self, tokens: Ints) -> Reals:
        place = tokens.shape[1]
        scale = self._scales[place]
        begun = tokens @ np.array([s // scale for s in self._scales[:place]], dtype=np.int64)
        first = (begun[:, None] + np.arange(self.sizes[place])) * scale
        # Of the scale numbers that begin so, those beyond the last one do not exist.
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.clip(self.last + 1 - first, 0, scale)))


def _encoding(numbering: Numbering) -> Encoding:
    if isinstance(numbering, Exponents):
        return ExponentEncoding(numbering)
    if isinstance(numbering, Order):
        return OrderEncoding(numbering)
    return NumberEncoding(numbering.sizes[0])


class Written(NamedTuple):
    """A parameter's part of the sentences: it begins at place ``begin``."""

    segment: Segment
    encoding: Encoding
    begin: int


class Listed:
    """Parameters that constraints tie together: which tokens their valid values go on with.

    All valid combinations are written down once, as one number each, whose digits are the tokens.
    Those that go on with a token are then an interval of the sorted numbers.
    """

    def __init__(self, sizes: Sequence[int], sentences: Ints) -> None:
        """``sentences`` of all valid combinations, shape (count, places)."""
        self.sizes = tuple(sizes)
        ends = np.array([*self.sizes[1:], 1], dtype=np.int64)
        self._scales = ends[::-1].cumprod()[::-1]
        self._numbers = np.sort(sentences @ self._scales)

    def ways(self, tokens: Ints) -> Reals:
        """The logarithm of how many combinations go on with each token, as in ``Encoding``."""
        place = tokens.shape[1]
        begun = tokens @ self._scales[:place]
        edges = begun[:, None] + np.arange(self.sizes[place] + 1) * self._scales[place]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.diff(np.searchsorted(self._numbers, edges), axis=1)))


class Place(NamedTuple):
    """A place in the sentences: who says what may stand there, and where its tokens begin."""

    encoding: Encoding | Listed
    begin: int
    size: int


class Tokens:
    """The sentences of a space's configs: those of its parameters, one after the other.

    Parameters that constraints tie together are neighbours. Their length is the number of
    ``places``; at none are there more than ``most`` tokens.
    """

    def __init__(self, space: Space) -> None:
        self.vectors = Vectors(space)
        segments = {segment.parameter.name: segment for segment in self.vectors.segments}
        self._written: list[Written] = []
        places: list[Place] = []
        for tie in ties_of(space):
            tied = [
                (segments[parameter.name], _encoding(segments[parameter.name].numbering))
                for parameter in tie.parameters
            ]
            listed = _list(tie, tied)
            first = begin = len(places)
            for segment, encoding in tied:
                self._written.append(Written(segment, encoding, begin))
                for size in encoding.sizes:
                    place = Place(listed, first, size) if listed else Place(encoding, begin, size)
                    places.append(place)
                begin = len(places)
        self.places = tuple(places)
        self.most = max((place.size for place in self.places), default=0)

    def __len__(self) -> int:
        return len(self.places)

    def write(self, config: Config) -> Ints:
        """The tokens of a config, shape (places,)."""
        tokens: list[int] = []
        for segment, encoding, _ in self._written:
            tokens += encoding.write(segment.numbering.numbers(config[segment.parameter.name]))
        return np.array(tokens, dtype=np.int32)

    def read(self, tokens: Ints) -> Config:
        """The config of a sentence, whether or not it meets the constraints."""
        listed = tokens.tolist()
        vector = np.empty(len(self.vectors.sizes), dtype=np.int32)
        for (_, _, first, last), encoding, begin in self._written:
            vector[first:last] = encoding.read(listed[begin : begin + len(encoding.sizes)])
        return self.vectors.config(vector)

    def ways(self, tokens: Ints) -> Reals:
        """The logarithm of how many values go on with each token, shape (batch, ``most``).

        ``tokens`` are those so far, shape (batch, place). Values are those of one parameter, or
        valid combinations of those that constraints tie together; where these are too many to be
        listed, constraints are not looked at. -infinity has what no value goes on with, or is no
        token there.
        """
        encoding, begin, size = self.places[tokens.shape[1]]
        ways = np.full((len(tokens), self.most), -np.inf)
        ways[:, :size] = encoding.ways(tokens[:, begin:])
        return ways


def _list(tie: Tie, tied: Sequence[tuple[Segment, Encoding]]) -> Listed | None:
    """The valid combinations of a tie; None without constraints, and where they are too many."""
    sizes = [size for _, encoding in tied for size in encoding.sizes]
    largest = max(parameter.cardinality for parameter in tie.parameters)
    numbers_fit = largest <= _MOST_VALUES and math.prod(sizes) < 1 << 62
    if not (tie.constraints and sizes and numbers_fit):
        return None
    try:
        blocks = list(Join(tie.parameters, tie.constraints, _MOST_LOOKED_AT).blocks())
    except JoinLimitError:
        return None
    if not blocks:
        return None
    columns = [
        _sentences(segment, encoding, numbers)
        for (segment, encoding), numbers in zip(tied, np.concatenate(blocks).T, strict=True)
    ]
    return Listed(sizes, np.concatenate(columns, axis=1))


def _sentences(segment: Segment, encoding: Encoding, numbers: npt.NDArray[np.int64]) -> Ints:
    """The sentences of a parameter's values of these numbers, shape (count, places)."""
    distinct, places = np.unique(numbers, return_inverse=True)
    parameter, numbering, _, _ = segment
    sentences = [
        encoding.write(numbering.numbers(parameter.value_at(number)))
        for number in distinct.tolist()
    ]
    return np.array(sentences, dtype=np.int32).reshape(len(distinct), -1)[places]
