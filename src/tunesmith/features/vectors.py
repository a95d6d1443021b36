"""Configs as vectors of integers >= 0, for neural tuners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tunesmith.space import Config, Factorization, Parameter, Permutation, Space, Value
from tunesmith.space.parameters.factorization import exponent_in
from tunesmith.space.value import identity

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Reals = npt.NDArray[np.float64]


class Numbering(Protocol):
    """A parameter's values as vectors. Element i is below ``sizes[i]``."""

    sizes: tuple[int, ...]

    def numbers(self, value: Value) -> Sequence[int]:
        """The vector of a value of the parameter."""

    def value(self, numbers: Sequence[int]) -> Value:
        """The value of a vector."""


class Exponents:
    """A factorization: for each part the exponents of all primes."""

    def __init__(self, parameter: Factorization) -> None:
        self.parts = parameter.parts
        self.primes = tuple(prime for prime, _ in parameter.primes)
        self.totals = tuple(exponent for _, exponent in parameter.primes)
        self.sizes = tuple(total + 1 for total in self.totals) * self.parts

    def numbers(self, value: Value) -> list[int]:
        assert isinstance(value, tuple)
        return [exponent_in(int(part), prime) for part in value for prime in self.primes]

    def value(self, numbers: Sequence[int]) -> Value:
        value = [1] * self.parts
        for place, exponent in enumerate(numbers):
            part, prime = divmod(place, len(self.primes))
            value[part] *= self.primes[prime] ** exponent
        return tuple(value)


class Order:
    """A permutation: for each position the index of its item in ``items``."""

    def __init__(self, parameter: Permutation) -> None:
        self.items = tuple(parameter.items)
        self.places = {identity(item): place for place, item in enumerate(self.items)}
        self.sizes = (len(self.items),) * len(self.items)

    def numbers(self, value: Value) -> list[int]:
        assert isinstance(value, tuple)
        return [self.places[identity(item)] for item in value]

    def value(self, numbers: Sequence[int]) -> Value:
        return tuple(self.items[place] for place in numbers)


class Number:
    """Any other parameter: the number of the value."""

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter
        self.sizes: tuple[int, ...] = (parameter.cardinality,)

    def numbers(self, value: Value) -> list[int]:
        return [self.parameter.index_of(value)]

    def value(self, numbers: Sequence[int]) -> Value:
        return self.parameter.value_at(numbers[0])


class Segment(NamedTuple):
    """One parameter's elements of the vectors: ``first`` … ``last`` - 1."""

    parameter: Parameter
    numbering: Numbering
    first: int
    last: int


class Vectors:
    """The vectors of a space's configs: those of its parameters, one after the other.

    Element i is below ``sizes[i]``; ``sizes`` has the shape (elements,).
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self.segments = tuple(_segments(space.parameters))
        sizes = [size for segment in self.segments for size in segment.numbering.sizes]
        self.sizes = np.array(sizes, dtype=np.int64)

    def vector(self, config: Mapping[str, Value]) -> Ints:
        """The vector of a config, shape (elements,)."""
        numbers: list[int] = []
        for parameter, numbering, _, _ in self.segments:
            numbers += numbering.numbers(config[parameter.name])
        return np.array(numbers, dtype=np.int32)

    def config(self, vector: Ints) -> Config:
        """The config of a vector, which may violate constraints."""
        numbers = vector.tolist()
        return Config.from_values(
            {
                parameter.name: numbering.value(numbers[first:last])
                for parameter, numbering, first, last in self.segments
            }
        )

    def meets_constraints(self, config: Config) -> bool:
        """Whether a config from ``config`` is valid."""
        return all(constraint.holds(config) for constraint in self.space.constraints)


def _segments(parameters: Sequence[Parameter]) -> Iterator[Segment]:
    first = 0
    for parameter in parameters:
        numbering = _numbering(parameter)
        yield Segment(parameter, numbering, first, first + len(numbering.sizes))
        first += len(numbering.sizes)


def _numbering(parameter: Parameter) -> Numbering:
    if isinstance(parameter, Factorization):
        return Exponents(parameter)
    if isinstance(parameter, Permutation):
        return Order(parameter)
    return Number(parameter)
