"""Operators of evolutionary tuners: roulette wheel, one-point crossover, mutation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tunesmith.space import Config, Parameter, Value

# The least weight of a parent, as a share of the fittest one's. So a pool with a single success
# still gives two different parents, and one with failures only draws uniformly.
_LEAST_WEIGHT = 1e-8


class Individual(NamedTuple):
    """A measured config and its fitness in calls per second."""

    config: Config
    fitness: float


def roulette_pairs(
    fitness: Sequence[float], pairs: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """``pairs`` pairs of different indices among two or more, drawn by the roulette wheel.

    The first of a pair is drawn in proportion to fitness, the second likewise among the others.
    """
    known = np.asarray(fitness, dtype=np.float64)
    best = known.max()
    edges = np.cumsum((known / best if best > 0.0 else known) + _LEAST_WEIGHT)
    widths = np.diff(edges, prepend=0.0)
    last = len(edges) - 1
    spins = rng.random((2, pairs))
    first = np.minimum(np.searchsorted(edges, spins[0] * edges[-1], side="right"), last)
    # The wheel without the first one's sector: sectors behind it move up by its width.
    second_spin = spins[1] * (edges[-1] - widths[first])
    second_spin += np.where(second_spin >= edges[first] - widths[first], widths[first], 0.0)
    second = np.minimum(np.searchsorted(edges, second_spin, side="right"), last)
    # Rounding may put a spin at an edge into the removed sector.
    second = np.where(second == first, np.where(first < last, first + 1, first - 1), second)
    return list(zip(first.tolist(), second.tolist(), strict=True))


def crossover(
    mother: Config, father: Config, names: Sequence[str], rng: np.random.Generator
) -> dict[str, Value]:
    """One-point crossover: the mother's parameters up to a cut, the father's from there on.

    Each parent contributes at least one parameter; a single parameter is the mother's.
    """
    cut = int(rng.integers(1, len(names))) if len(names) > 1 else 1
    return {name: (mother if i < cut else father)[name] for i, name in enumerate(names)}


def another_value(parameter: Parameter, value: Value, rng: np.random.Generator) -> Value:
    """A random value other than ``value``; ``value`` if it is the only one."""
    if parameter.cardinality == 1:
        return value
    drawn = parameter.sample(rng)
    while drawn == value:
        drawn = parameter.sample(rng)
    return drawn
