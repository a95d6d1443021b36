"""What evolutionary tuners share: the roulette wheel, one-point crossover, mutation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tunesmith.space import Config, Parameter, Value

# What a parent's weight is at least, as a share of the fittest one's: a pool with one success
# among failures still yields two different parents, and one without any draws evenly.
_LEAST_WEIGHT = 1e-8


class Individual(NamedTuple):
    """A measured config and its fitness in calls a second."""

    config: Config
    fitness: float


def select_parents(
    pool: Sequence[Individual], rng: np.random.Generator
) -> tuple[Individual, Individual]:
    """Two different members of a pool of two or more, each drawn in proportion to its fitness."""
    [(first, second)] = roulette_pairs([member.fitness for member in pool], 1, rng)
    return pool[first], pool[second]


def roulette_pairs(
    fitness: Sequence[float], pairs: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """``pairs`` pairs of places among two or more, drawn by the roulette wheel.

    The first of a pair is drawn in proportion to its fitness among all, the second in proportion to
    its fitness among the others.
    """
    edges = np.cumsum(_roulette_weights(np.asarray(fitness, dtype=np.float64)))
    widths = np.diff(edges, prepend=0.0)
    last = len(edges) - 1
    spins = rng.random((2, pairs))
    first = np.minimum(np.searchsorted(edges, spins[0] * edges[-1], side="right"), last)
    # The wheel without the first one's sector: what lies behind it moves up by its width.
    second_spin = spins[1] * (edges[-1] - widths[first])
    second_spin += np.where(second_spin >= edges[first] - widths[first], widths[first], 0.0)
    second = np.minimum(np.searchsorted(edges, second_spin, side="right"), last)
    # Rounding may put a spin at the very edge into the sector that was left out.
    second = np.where(second == first, np.where(first < last, first + 1, first - 1), second)
    return list(zip(first.tolist(), second.tolist(), strict=True))


def _roulette_weights(fitness: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    best = fitness.max()
    weights: npt.NDArray[np.float64] = fitness / best if best > 0.0 else fitness
    return weights + _LEAST_WEIGHT


def crossover(
    mother: Config, father: Config, names: Sequence[str], rng: np.random.Generator
) -> dict[str, Value]:
    """One-point crossover over the parameters: the mother's up to a cut, the father's from there.

    The cut lies between two parameters, so that each parent gives at least one; a lone parameter
    is the mother's.
    """
    cut = int(rng.integers(1, len(names))) if len(names) > 1 else 1
    return {name: (mother if i < cut else father)[name] for i, name in enumerate(names)}


def another_value(parameter: Parameter, value: Value, rng: np.random.Generator) -> Value:
    """A value other than ``value``, all equally likely; ``value`` where it is the only one."""
    if parameter.cardinality == 1:
        return value
    drawn = parameter.sample(rng)
    while drawn == value:
        drawn = parameter.sample(rng)
    return drawn
