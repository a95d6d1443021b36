"""The k-NN surrogate against the paper's equations, worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tunesmith.features.genes import Genes
from tunesmith.models import CostModel
from tunesmith.models.knn import KnnRegressor, canberra
from tunesmith.space import (
    Categorical,
    Config,
    Factorization,
    Ordinal,
    Parameter,
    Permutation,
    Space,
)
from tunesmith.testing.cost_model import CostModelConformance
from tunesmith.testing.trials import LARGE_SPACES, space_named


class TestKnnRegressor(CostModelConformance):
    def make_model(self, features: int) -> CostModel:
        return KnnRegressor(features)


class OfConfigs:
    """A regressor over the genes of configs."""

    def __init__(self, space: Space, k: int, known: Sequence[Config], values: Sequence[float]):
        self.genes = Genes(space)
        features = sum(self.genes.widths)
        self.model = KnnRegressor(features, k, self.genes.widths, self.genes.unordered)
        self.model.fit(self.genes.of_all(known), np.array(values))

    def predict(self, configs: Sequence[Config]) -> npt.NDArray[np.float64]:
        return self.model.predict(self.genes.of_all(configs)).means

    def distances(self, configs: Sequence[Config]) -> npt.NDArray[np.float32]:
        return self.model.distances(self.genes.of_all(configs))


def regressor(space: Space, k: int, known: Mapping[tuple[Any, ...], float]) -> OfConfigs:
    configs = [config(space, *values) for values in known]
    return OfConfigs(space, k, configs, list(known.values()))


def config(space: Space, *values: object) -> Config:
    return Config(dict(zip(space.names, values, strict=True)))


def line(largest: int = 100) -> Space:
    """A space whose ordinal is of rank x at x."""
    return Space([Ordinal("x", tuple(range(1, largest + 1)))])


# --- Equation 4: Canberra's distance


@pytest.mark.parametrize(
    ("x", "z", "distance"),
    [
        (2.0, 6.0, 0.5),
        (6.0, 2.0, 0.5),
        (1.0, 1.0, 0.0),
        (0.0, 0.0, 0.0),  # 0/0
        (0.0, 7.0, 1.0),
        (-1.0, 3.0, 1.0),
        (-1.0, -3.0, 0.5),
        (1e-300, 3e-300, 0.5),
    ],
)
def test_canberra_of_one_number(x: float, z: float, distance: float) -> None:
    assert canberra(np.array([[x]]), np.array([[z]])) == pytest.approx(distance)


def test_canberra_of_several_numbers_is_the_mean_of_their_terms() -> None:
    x = np.array([[1.0, 2.0, 0.0], [4.0, 2.0, 8.0]])
    z = np.array([[3.0, 2.0, 0.0]])
    assert canberra(x, z) == pytest.approx(np.array([[0.5 / 3], [(1 / 7 + 1.0) / 3]]))


def test_canberra_of_sizes_compares_their_ratio() -> None:
    [[distance]] = canberra(np.array([[16.0]]), np.array([[4.0]]))
    assert distance == pytest.approx(math.tanh(math.log(16 / 4) / 2))


# --- Genes


def test_a_distance_is_the_sum_over_the_genes() -> None:
    space = Space(
        [
            Factorization("tile", 12, 2),
            Permutation("order", ("i", "j")),
            Ordinal("unroll", (0, 4, 12)),
            Categorical("layout", ("a", "b", "c")),
        ]
    )
    surrogate = regressor(space, 1, {((12, 1), ("i", "j"), 12, "c"): 1.0})
    near = config(space, (12, 1), ("i", "j"), 4, "c")
    far = config(space, (4, 3), ("j", "i"), 0, "a")
    # Tile: (8/16 + 2/4) / 2. Order: i at 1 and 2, j at 2 and 1: (1/3 + 1/3) / 2. Unroll: ranks.
    expected = np.array([[1 / 5], [0.5 + 1 / 3 + 2 / 4 + 1.0]])
    assert surrogate.distances([near, far]) == pytest.approx(expected, rel=1e-6)


def test_two_categories_are_alike_or_not_wherever_they_are_listed() -> None:
    space = Space([Categorical("c", (True, "no", 7, 0.5))])
    surrogate = regressor(space, 1, {(value,): 1.0 for value in (True, "no", 7, 0.5)})
    everything = [config(space, value) for value in (True, "no", 7, 0.5)]
    assert surrogate.distances(everything) == pytest.approx(1.0 - np.eye(4))


@pytest.mark.parametrize("name", LARGE_SPACES)
def test_distances_are_those_of_a_metric_between_0_and_the_number_of_genes(name: str) -> None:
    space = space_named(name)
    configs = space.sample_many(40, np.random.default_rng(0))
    surrogate = OfConfigs(space, 3, configs, [1.0] * 40)
    distances = surrogate.distances(configs)
    assert distances == pytest.approx(distances.T)
    assert distances.diagonal() == pytest.approx(0.0)
    others = distances[~np.eye(len(configs), dtype=bool)]
    assert others.min() > 0.0
    assert others.max() <= len(space.names) * (1 + 1e-6)


# --- Equations 1 to 3: the weighted mean of the nearest


def test_the_prediction_is_weighted_by_the_inverse_of_the_distance() -> None:
    # Distances from 10: 30 at 20/40, 15 at 5/25, 90 at 80/100, which is not among the nearest two.
    surrogate = regressor(line(), 2, {(30,): 4.0, (90,): 8.0, (15,): 2.0})
    expected = (4.0 / 0.5 + 2.0 / 0.2) / (1 / 0.5 + 1 / 0.2)
    [predicted] = surrogate.predict([config(line(), 10)])
    assert predicted == pytest.approx(expected)


def test_one_neighbour_gives_its_own_value() -> None:
    surrogate = regressor(line(), 1, {(10,): 4.0, (40,): 8.0})
    queries = [config(line(), x) for x in (9, 12, 39)]
    assert surrogate.predict(queries) == pytest.approx([4.0, 4.0, 8.0])


def test_with_fewer_known_than_k_all_count() -> None:
    surrogate = regressor(line(), 9, {(10,): 1.0, (30,): 2.0})
    expected = (1.0 / (10 / 30) + 2.0 / (10 / 50)) / (30 / 10 + 50 / 10)
    [predicted] = surrogate.predict([config(line(), 20)])
    assert predicted == pytest.approx(expected)


def test_a_known_config_has_its_own_value() -> None:
    surrogate = regressor(line(), 3, {(10,): 1.0, (11,): 4.0, (12,): 2.0})
    assert surrogate.predict([config(line(), 10)]) == pytest.approx([1.0])


def test_those_equally_far_share_the_places_that_are_left() -> None:
    space = Space([Ordinal("x", (1, 2)), Categorical("c", tuple("abcd"))])
    known: dict[tuple[Any, ...], float] = {
        (1, "a"): 9.0,
        (2, "b"): 1.0,
        (2, "c"): 2.0,
        (2, "d"): 6.0,
    }
    query = [config(space, 2, "a")]
    # (1, a) is at 1/3; the others are at 1 and have one place between them: each a third of it.
    expected = (9.0 * 3 + (1.0 + 2.0 + 6.0) / 3) / (3 + 1)
    forth = regressor(space, 2, known).predict(query)
    back = regressor(space, 2, dict(reversed(known.items()))).predict(query)
    assert forth == pytest.approx([expected])
    assert back == pytest.approx(forth, rel=1e-15)


def test_failures_count_as_zero() -> None:
    failures = regressor(line(), 2, {(10,): 0.0, (12,): 0.0})
    assert failures.predict([config(line(), 11)]) == pytest.approx([0.0])
    mixed = regressor(line(), 2, {(10,): 0.0, (11,): 3.0})
    assert mixed.predict([config(line(), 11), config(line(), 10)]) == pytest.approx([3.0, 0.0])


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1.0, 1.7e308])
def test_values_of_any_size(scale: float) -> None:
    surrogate = regressor(line(), 3, {(x,): scale for x in range(1, 8)})
    assert surrogate.predict([config(line(), 50)]) == pytest.approx([scale])


def test_many_queries_and_known_configs_are_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    space = space_named("mixed")
    rng = np.random.default_rng(0)
    configs = space.sample_many(700, rng)
    surrogate = OfConfigs(space, 9, configs[:600], rng.random(600).tolist())
    together = surrogate.predict(configs[600:])
    alone = [surrogate.predict([one])[0] for one in configs[600:]]
    assert together == pytest.approx(alone, rel=1e-12)
    monkeypatch.setattr("tunesmith.models.knn._PAIRS_AT_ONCE", 2000)
    assert (surrogate.predict(configs[600:]) == together).all()
    assert surrogate.predict([]).shape == (0,)


# --- All of it against the equations written out, one pair of configs after the other


def canberra_term(x: float, z: float) -> float:
    return abs(x - z) / (abs(x) + abs(z)) if x or z else 0.0


def gene_distance(parameter: Parameter, a: Any, b: Any) -> float:
    """Equation 4 for one gene."""
    if isinstance(parameter, Categorical):
        return float(a != b)
    if isinstance(parameter, Ordinal):
        return canberra_term(parameter.values.index(a) + 1, parameter.values.index(b) + 1)
    if isinstance(parameter, Permutation):
        a, b = ([order.index(item) + 1 for item in parameter.items] for order in (a, b))
    return sum(map(canberra_term, a, b)) / len(a)


def reference(space: Space, known: Sequence[Config], values: Sequence[float], query: Config) -> Any:
    """Equations 1 to 3 by brute force, with k = 9; those on the border share the places left."""
    distances = []
    for one in known:
        genes = [gene_distance(p, query[p.name], one[p.name]) for p in space.parameters]
        distances.append(sum(map(np.float32, genes)))  # or rounding would tell ties apart
    border = sorted(distances)[8]
    nearer = [i for i, d in enumerate(distances) if d < border]
    on_border = [i for i, d in enumerate(distances) if d == border]
    share = (9 - len(nearer)) / len(on_border)
    weights = [(i, 1 / distances[i]) for i in nearer] + [(i, share / border) for i in on_border]
    return sum(weight * values[i] for i, weight in weights) / sum(w for _, w in weights)


@pytest.mark.parametrize("name", LARGE_SPACES)
def test_it_agrees_with_the_equations_written_out(name: str) -> None:
    space = space_named(name)
    rng = np.random.default_rng(1)
    configs = space.sample_many(240, rng)
    known, queries = configs[:200], configs[200:]
    values = rng.random(200)
    values[rng.random(200) < 0.2] = 0.0  # failures
    surrogate = OfConfigs(space, 9, known, values.tolist())
    expected = [reference(space, known, values.tolist(), query) for query in queries]
    assert surrogate.predict(queries) == pytest.approx(np.array(expected), rel=1e-5)
