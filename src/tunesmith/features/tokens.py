"""Configs as token sequences ("sentences") with a small vocabulary at each place."""

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

# A number with more values than this is written with several digits.
_MOST_TOKENS = 64

# The valid combinations of a tie are listed if no parameter has more values than the first limit,
# and no more combinations than the second need to be evaluated, which takes half a second.
_MOST_VALUES = 1 << 16
_MOST_COMBINATIONS = 1 << 21


class Encoding(Protocol):
    """Encodes a parameter's vector as tokens. ``sizes`` is the vocabulary size at each place."""

    sizes: tuple[int, ...]

    def write(self, numbers: Sequence[int]) -> list[int]:
        """The tokens of a vector, one per place."""

    def read(self, tokens: Sequence[int]) -> list[int]:
        """The vector of a token sequence."""

    def ways(self, tokens: Ints) -> Reals:
        """For each next token, the log of the number of values that continue with it.

        ``tokens`` are the prefixes, shape (batch, place). The result has shape (batch, tokens), and
        -infinity for tokens that no value continues with.
        """


class ExponentEncoding:
    """A factorization part by part: the exponent of each prime. The last part is implied."""

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
    """Entry (left, e): the log of the number of compositions of ``left - e`` into ``parts``."""
    ways = np.full((total + 1, total + 1), -np.inf)
    for left in range(total + 1):
        for exponent in range(left + 1):
            ways[left, exponent] = math.log(compositions(left - exponent, parts))
    return ways


class OrderEncoding:
    """A permutation item by item. The last item is implied."""

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
    """A number in the fewest digits with at most 64 tokens each."""

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
        # ``scale`` numbers share a prefix, except that those beyond ``last`` do not exist.
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.clip(self.last + 1 - first, 0, scale)))


def _encoding(numbering: Numbering) -> Encoding:
    if isinstance(numbering, Exponents):
        return ExponentEncoding(numbering)
    if isinstance(numbering, Order):
        return OrderEncoding(numbering)
    return NumberEncoding(numbering.sizes[0])


class Written(NamedTuple):
    """A parameter's part of the sentences, from place ``begin`` on."""

    segment: Segment
    encoding: Encoding
    begin: int


class Listed:
    """The valid combinations of a tie, to find the tokens that can follow a prefix.

    Each combination is a number whose digits are its tokens. The combinations with a common prefix
    are an interval of the sorted numbers.
    """

    def __init__(self, sizes: Sequence[int], sentences: Ints) -> None:
        """``sentences`` are those of all valid combinations, shape (count, places)."""
        self.sizes = tuple(sizes)
        ends = np.array([*self.sizes[1:], 1], dtype=np.int64)
        self._scales = ends[::-1].cumprod()[::-1]
        self._numbers = np.sort(sentences @ self._scales)

    def ways(self, tokens: Ints) -> Reals:
        """As in ``Encoding``, for combinations instead of values."""
        place = tokens.shape[1]
        begun = tokens @ self._scales[:place]
        edges = begun[:, None] + np.arange(self.sizes[place] + 1) * self._scales[place]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.diff(np.searchsorted(self._numbers, edges), axis=1)))


class Place(NamedTuple):
    """A place in the sentences: what determines its valid tokens, the place at which that part
    begins, and the size of the vocabulary."""

    encoding: Encoding | Listed
    begin: int
    size: int


class Tokens:
    """The sentences of a space's configs: those of its parameters, one after the other.

    The parameters of a tie are adjacent. All sentences have the length ``len(places)``; ``most`` is
    the largest vocabulary.
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
        """The config of a sentence, which may violate constraints."""
        listed = tokens.tolist()
        vector = np.empty(len(self.vectors.sizes), dtype=np.int32)
        for (_, _, first, last), encoding, begin in self._written:
            vector[first:last] = encoding.read(listed[begin : begin + len(encoding.sizes)])
        return self.vectors.config(vector)

    def ways(self, tokens: Ints) -> Reals:
        """For each next token, the log of the number of values that continue with it.

        ``tokens`` are the prefixes, shape (batch, place). The result has shape (batch, ``most``),
        and -infinity for tokens that no value continues with or that do not exist at this place.
        Values are those of a parameter, or the valid combinations of a tie. If these are too many
        to list, constraints are ignored.
        """
        encoding, begin, size = self.places[tokens.shape[1]]
        ways = np.full((len(tokens), self.most), -np.inf)
        ways[:, :size] = encoding.ways(tokens[:, begin:])
        return ways


def _list(tie: Tie, tied: Sequence[tuple[Segment, Encoding]]) -> Listed | None:
    """The valid combinations of a tie; None if it has no constraints, or too many combinations."""
    sizes = [size for _, encoding in tied for size in encoding.sizes]
    largest = max(parameter.cardinality for parameter in tie.parameters)
    numbers_fit = largest <= _MOST_VALUES and math.prod(sizes) < 1 << 62
    if not (tie.constraints and sizes and numbers_fit):
        return None
    try:
        blocks = list(Join(tie.parameters, tie.constraints, _MOST_COMBINATIONS).blocks())
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
    """The sentences of a parameter's values with these numbers, shape (count, places)."""
    distinct, places = np.unique(numbers, return_inverse=True)
    parameter, numbering, _, _ = segment
    sentences = [
        encoding.write(numbering.numbers(parameter.value_at(number)))
        for number in distinct.tolist()
    ]
    return np.array(sentences, dtype=np.int32).reshape(len(distinct), -1)[places]
