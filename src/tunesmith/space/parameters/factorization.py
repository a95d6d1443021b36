"""Factorizations of a loop's extent into tile sizes (OpEvo, section 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from tunesmith.errors import SpaceError
from tunesmith.space.columns import Array, Column
from tunesmith.space.parameters import compositions
from tunesmith.space.parameters.parameter import Parameter, place_below
from tunesmith.space.value import Value, quote

# Limits beyond any loop nest, so that no file can cause hours of factoring.
MAX_PRODUCT = 1 << 40
MAX_PARTS = 64

# Up to this many values all are cached in a list: drawing one is then a look-up.
_LISTED = 1 << 14


@lru_cache(maxsize=4096)
def prime_exponents(number: int) -> tuple[tuple[int, int], ...]:
    """The primes of ``number``, ascending, each with its exponent."""
    factors = []
    prime = 2
    while prime * prime <= number:
        exponent = 0
        while number % prime == 0:
            number //= prime
            exponent += 1
        if exponent:
            factors.append((prime, exponent))
        prime += 1 if prime == 2 else 2
    return (*factors, (number, 1)) if number > 1 else tuple(factors)


@dataclass(frozen=True)
class Factorization(Parameter):
    """Ordered tuples of ``parts`` positive integers whose product is ``product``.

    Two are adjacent if moving one prime factor from one part to another turns one into the other. A
    value's number has one digit per prime: the rank of the composition of that prime's exponent
    over the parts. Raises SpaceError for a product above 2^40 or more than 64 parts, and what is no
    positive integer.
    """

    product: int
    parts: int

    kind: ClassVar[str] = "factorization"

    def __post_init__(self) -> None:
        super().__post_init__()
        for field, limit in (("product", MAX_PRODUCT), ("parts", MAX_PARTS)):
            number = getattr(self, field)
            if isinstance(number, np.integer):
                number = int(number)
                object.__setattr__(self, field, number)
            if type(number) is not int or not 1 <= number <= limit:
                raise SpaceError(
                    f"factorization '{self.name}': {field} is {quote(number)}: "
                    f"give an integer from 1 to {limit}"
                )

    @cached_property
    def primes(self) -> tuple[tuple[int, int], ...]:
        """The primes of the product with their exponents."""
        return prime_exponents(self.product)

    @cached_property
    def cardinality(self) -> int:
        return math.prod(self._radices)

    @cached_property
    def _radices(self) -> tuple[int, ...]:
        return tuple(compositions.count(exponent, self.parts) for _, exponent in self.primes)

    @cached_property
    def _values(self) -> list[tuple[int, ...]] | None:
        if self.cardinality > _LISTED:
            return None
        parts = self.columns(np.arange(self.cardinality))
        return list(zip(*(part.tolist() for part in parts), strict=True))

    @property
    def expectation(self) -> str:
        return f"{self.parts} positive integers whose product is {self.product}"

    @property
    def encoded_names(self) -> tuple[str, ...]:
        return tuple(f"log2 {self.name}[{part}]" for part in range(self.parts))

    def contains(self, value: object) -> bool:
        if type(value) is not tuple or len(value) != self.parts:
            return False
        product = 1
        for part in value:
            if type(part) is not int or not 0 < part <= self.product:
                return False
            product *= part
        return product == self.product

    def value_at(self, index: int) -> tuple[int, ...]:
        index = self.plain_index(index)
        if self._values is not None:
            return self._values[index]
        value = [1] * self.parts
        for (prime, exponent), radix in zip(
            reversed(self.primes), reversed(self._radices), strict=True
        ):
            index, digit = divmod(index, radix)
            for part, power in enumerate(compositions.unrank(digit, exponent, self.parts)):
                value[part] *= prime**power
        return tuple(value)

    def index_of(self, value: Value) -> int:
        index = 0
        for exponents, radix in zip(self._exponents(value), self._radices, strict=True):
            index = index * radix + compositions.rank(exponents)
        return index

    def _exponents(self, value: Value) -> list[tuple[int, ...]]:
        """For each prime, its exponent in every part."""
        self.check(value)
        assert isinstance(value, tuple)
        return [tuple(exponent_in(int(part), prime) for part in value) for prime, _ in self.primes]

    def neighbours(self, value: Value) -> list[Value]:
        # No two of these moves lead to the same value, so none needs deduplication.
        self.check(value)
        assert isinstance(value, tuple)
        found: list[Value] = []
        for prime, _ in self.primes:
            for source, length in enumerate(value):
                if int(length) % prime:
                    continue
                for goal in range(self.parts):
                    if goal != source:
                        moved = [int(part) for part in value]
                        moved[source] //= prime
                        moved[goal] *= prime
                        found.append(tuple(moved))
        return found

    def _random_neighbour(self, value: Value, rng: np.random.Generator) -> Value:
        # Every prime of every part can move to the same number of parts: all moves are equally
        # likely.
        assert isinstance(value, tuple)
        moved = [int(part) for part in value]
        movable = [
            (prime, source)
            for prime, _ in self.primes
            for source, length in enumerate(moved)
            if length % prime == 0
        ]
        prime, source = movable[place_below(len(movable), rng)]
        goal = place_below(self.parts - 1, rng)
        goal += goal >= source
        moved[source] //= prime
        moved[goal] *= prime
        return tuple(moved)

    def distance(self, a: Value, b: Value) -> int:
        # One move takes one unit of one prime's exponent from one part to another.
        return sum(
            sum(abs(x - y) for x, y in zip(of_a, of_b, strict=True)) // 2
            for of_a, of_b in zip(self._exponents(a), self._exponents(b), strict=True)
        )

    def encode(self, value: Value) -> tuple[float, ...]:
        """The logarithm to base 2 of each part."""
        self.check(value)
        assert isinstance(value, tuple)
        return tuple(math.log2(int(part)) for part in value)

    def columns(self, indices: Array) -> Column:
        if self.cardinality >= 1 << 63:
            return super().columns(indices)
        digits = np.asarray(indices, dtype=np.int64)
        value = np.ones((self.parts, len(digits)), dtype=np.int64)
        for (prime, exponent), radix in zip(
            reversed(self.primes), reversed(self._radices), strict=True
        ):
            digits, digit = np.divmod(digits, radix)
            value *= prime ** compositions.unrank_many(digit, exponent, self.parts)
        return tuple(value)


def exponent_in(number: int, prime: int) -> int:
    """The exponent of ``prime`` in ``number``, both positive."""
    exponent = 0
    while number % prime == 0:
        number //= prime
        exponent += 1
    return exponent
