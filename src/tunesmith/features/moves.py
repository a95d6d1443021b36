"""A fixed list of moves between configs, and the features of a config for a network.

This is the action space of N-A2C ("Compiler-Level Matrix Multiplication Optimization for Deep
Learning", equations 5 to 7), extended to all kinds of parameters.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tunesmith.features.vectors import Exponents, Floats, Ints, Segment, Vectors
from tunesmith.space import Factorization, Ordinal, Permutation, Space

Numbers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# With more moves than this, the longest lists are replaced by shorter ones.
_MOST_MOVES = 512

# An element without an order is encoded one-hot up to this many values, else as binary digits.
_MOST_ONE_HOT = 16


class Kind(enum.IntEnum):
    """The effect of a move on the vector."""

    CARRY = 0  # moves 1 from element ``source`` to element ``goal``
    STEP = 1  # adds ``amount`` to ``source``, within its range
    TURN = 2  # adds ``amount`` to ``source``, modulo its size
    SET = 3  # sets ``source`` to ``amount``
    SWAP = 4  # swaps ``source`` and ``goal``


class Move(NamedTuple):
    """A move, which turns a config into another one, or is impossible for it."""

    kind: Kind
    source: int
    goal: int = 0
    amount: int = 0


class Moves:
    """The moves of a space, and its configs as states: vectors (see ``Vectors``).

    A move changes one parameter: it moves a prime factor from one part of a factorization to
    another, steps to the next value of an ordinal, sets a category, or swaps two items of a
    permutation. These moves reach all neighbours. Their number is quadratic in the parts of a
    factorization and in the items of a permutation, and linear in the categories.

    If there are more than 512, the parameters with the longest lists get shorter ones, by which all
    configs can still be reached: moves between adjacent parts or items only, and for categories
    steps by powers of two, modulo their number. The paper has no such limit; its spaces are small.
    """

    def __init__(self, space: Space) -> None:
        self.vectors = Vectors(space)
        self.moves = tuple(_listed(self.vectors.segments))
        kinds, sources, goals, amounts = np.array(self.moves, dtype=np.int64).reshape(-1, 4).T
        self._kinds, self._sources, self._goals, self._amounts = kinds, sources, goals, amounts
        self._of = {kind: np.flatnonzero(kinds == kind) for kind in Kind if kind in kinds}
        numbers = {move: number for number, move in enumerate(self.moves)}
        # For SET this is the move to value 0; those to the other values follow it.
        self._undoing = np.array([numbers[_undoing(move)] for move in self.moves], dtype=np.int64)
        self._features = _Features(self.vectors)

    def __len__(self) -> int:
        return len(self.moves)

    @property
    def features(self) -> int:
        """The number of features of a state."""
        return self._features.count

    def possible(self, states: Ints) -> Bools:
        """Which moves change each state, shape (batch, moves); ``states`` is (batch, elements)."""
        possible = np.ones((len(states), len(self.moves)), dtype=np.bool_)
        for kind, moves in self._of.items():
            before = states[:, self._sources[moves]]
            amounts = self._amounts[moves]
            if kind is Kind.CARRY:
                possible[:, moves] = before > 0
            elif kind is Kind.STEP:
                after = before + amounts
                sizes = self.vectors.sizes[self._sources[moves]]
                possible[:, moves] = (after >= 0) & (after < sizes)
            elif kind is Kind.SET:
                possible[:, moves] = before != amounts
        return possible

    def step(self, states: Ints, moves: Numbers) -> Ints:
        """Each state after its move, which must be possible (equation 7).

        Shape (batch, elements), for ``states`` (batch, elements) and ``moves`` (batch,).
        """
        after = states.copy()
        sources, goals, amounts = self._sources[moves], self._goals[moves], self._amounts[moves]
        kinds = self._kinds[moves]
        for kind in self._of:
            rows = np.flatnonzero(kinds == kind)
            source, goal, amount = sources[rows], goals[rows], amounts[rows]
            if kind is Kind.CARRY:
                after[rows, source] -= 1
                after[rows, goal] += 1
            elif kind is Kind.SWAP:
                after[rows, source], after[rows, goal] = states[rows, goal], states[rows, source]
            elif kind is Kind.SET:
                after[rows, source] = amount
            else:
                after[rows, source] = (states[rows, source] + amount) % self.vectors.sizes[source]
        return after

    def back(self, states: Ints, moves: Numbers) -> Numbers:
        """The moves that lead from the results of ``step`` back to ``states``, shape (batch,)."""
        back = self._undoing[moves]
        rows = np.flatnonzero(self._kinds[moves] == Kind.SET)
        back[rows] += states[rows, self._sources[moves[rows]]]
        return back

    def encode(self, states: Ints) -> Floats:
        """The features for a network, shape (batch, features), in [-1/2, 1/2].

        Exponents and the indices of ordinals are scaled by their maximum; categories and the items
        of a permutation are one-hot or binary digits.
        """
        return self._features.of(states)


class _Features:
    """The features of vectors: scaled ordered elements, then the digits of the others."""

    def __init__(self, vectors: Vectors) -> None:
        elements = [
            (element, isinstance(parameter, Factorization | Ordinal))
            for parameter, _, first, last in vectors.segments
            for element in range(first, last)
            if vectors.sizes[element] > 1
        ]
        ordered = [element for element, is_ordered in elements if is_ordered]
        self._ordered = np.array(ordered, dtype=np.int64)
        self._scale = 1.0 / (vectors.sizes[self._ordered] - 1)
        self._digits = [
            (element, _digits(int(vectors.sizes[element])))
            for element, is_ordered in elements
            if not is_ordered
        ]
        self.count: int = len(ordered) + sum(digits.shape[1] for _, digits in self._digits)

    def of(self, states: Ints) -> Floats:
        features = np.empty((len(states), self.count), dtype=np.float32)
        end = len(self._ordered)
        features[:, :end] = states[:, self._ordered] * self._scale
        for element, digits in self._digits:
            begin, end = end, end + digits.shape[1]
            features[:, begin:end] = digits[states[:, element]]
        return features - np.float32(0.5)


def _digits(size: int) -> Floats:
    """The features of an element's values, shape (size, features)."""
    if size <= _MOST_ONE_HOT:
        return np.eye(size, dtype=np.float32)
    places = np.arange((size - 1).bit_length())
    return (np.arange(size)[:, None] >> places & 1).astype(np.float32)


def _undoing(move: Move) -> Move:
    """The inverse move; for SET the move to value 0."""
    kind, source, goal, amount = move
    if kind is Kind.CARRY:
        return Move(kind, goal, source)
    if kind is Kind.SWAP:
        return move
    return Move(kind, source, goal, 0 if kind is Kind.SET else -amount)


def _listed(segments: Sequence[Segment]) -> list[Move]:
    """The moves of all parameters, in their order."""
    lists = [_all_moves(segment) for segment in segments]
    for place in sorted(range(len(lists)), key=lambda place: -len(lists[place])):
        if sum(map(len, lists)) <= _MOST_MOVES:
            break
        lists[place] = _few_moves(segments[place])
    return [move for moves in lists for move in moves]


def _all_moves(segment: Segment) -> list[Move]:
    """The moves to all neighbours of a value."""
    parameter, numbering, first, last = segment
    if isinstance(numbering, Exponents):
        return _carries(numbering, first, permutations(range(numbering.parts), 2))
    if isinstance(parameter, Permutation):
        return [Move(Kind.SWAP, a, b) for a, b in combinations(range(first, last), 2)]
    if parameter.cardinality == 1:
        return []
    if isinstance(parameter, Ordinal):
        return [Move(Kind.STEP, first, amount=amount) for amount in (-1, 1)]
    return [Move(Kind.SET, first, amount=value) for value in range(parameter.cardinality)]


def _few_moves(segment: Segment) -> list[Move]:
    """Fewer moves, by which every value can still be reached from every other."""
    parameter, numbering, first, last = segment
    if isinstance(numbering, Exponents):
        adjacent = [pair for a in range(numbering.parts - 1) for pair in ((a, a + 1), (a + 1, a))]
        return _carries(numbering, first, adjacent)
    if isinstance(parameter, Permutation):
        return [Move(Kind.SWAP, place, place + 1) for place in range(first, last - 1)]
    if isinstance(parameter, Ordinal):
        return _all_moves(segment)
    powers = [1 << place for place in range((parameter.cardinality - 1).bit_length())]
    return [Move(Kind.TURN, first, amount=sign * power) for power in powers for sign in (1, -1)]


def _carries(numbering: Exponents, first: int, parts: Iterable[tuple[int, int]]) -> list[Move]:
    """For each prime, the moves of one factor between these pairs of parts (equation 6)."""
    primes = len(numbering.primes)
    return [
        Move(Kind.CARRY, first + source * primes + prime, first + goal * primes + prime)
        for source, goal in parts
        for prime in range(primes)
    ]
