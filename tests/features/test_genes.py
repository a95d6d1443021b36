"""The numbers that NoSE's distance compares."""

from __future__ import annotations

import numpy as np
import pytest

from tunesmith.features.genes import Genes, gene_numbers
from tunesmith.space import Categorical, Config, Factorization, Ordinal, Permutation, Space
from tunesmith.testing.trials import LARGE_SPACES, space_named


def test_the_numbers_of_each_kind() -> None:
    assert gene_numbers(Ordinal("n", (0, 4, 16)), 16) == (3.0,)
    assert gene_numbers(Factorization("f", 12, 3), (2, 6, 1)) == (2.0, 6.0, 1.0)
    order = Permutation("p", ("i", "j", "k"))
    assert gene_numbers(order, ("k", "i", "j")) == (2.0, 3.0, 1.0)  # ranks of i, j and k
    assert gene_numbers(Categorical("c", ("a", "b", "c")), "c") == (3.0,)


def test_genes_lie_one_after_the_other() -> None:
    genes = Genes(Space([Factorization("tile", 12, 2), Categorical("layout", ("a", "b"))]))
    assert genes.widths == (2, 1)
    assert genes.unordered == {1}
    configs = [Config({"tile": (3, 4), "layout": "b"}), Config({"tile": (1, 12), "layout": "a"})]
    np.testing.assert_array_equal(genes.of_all(configs), [[3, 4, 2], [1, 12, 1]])
    assert genes.of_all([]).shape == (0, 3)


@pytest.mark.parametrize("name", LARGE_SPACES)
def test_different_configs_have_different_genes(name: str) -> None:
    space = space_named(name)
    configs = space.sample_many(100, np.random.default_rng(0))
    rows = Genes(space).of_all(configs)
    assert len({tuple(row) for row in rows}) == len(set(configs))
