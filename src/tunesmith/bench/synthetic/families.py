"""The synthetic spaces by name, such as ``synthetic.categories.2``.

Each family has several members that differ in their seed and in how much parameters interact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from tunesmith.bench.synthetic.landscape import Landscape
from tunesmith.errors import unknown_name
from tunesmith.space import Categorical, Constraint, Factorization, Ordinal, Permutation, Space

MEMBERS = 12
"""Those of each family, from 0 on."""

# How many pairs of parameters interact in a member, and how different similar configs are.
_PAIRS = (0, 6, 20)
_RUGGED = (0.01, 0.05)


def _ordinals() -> Space:
    return Space([Ordinal(f"size_{i}", tuple(2**power for power in range(8))) for i in range(20)])


def _categories() -> Space:
    return Space([Categorical(f"choice_{i}", tuple("abcdef")) for i in range(20)])


def _permutations() -> Space:
    return Space([Permutation(f"order_{i}", tuple("nhwcij")) for i in range(4)])


def _mixed() -> Space:
    """10^12 configs of all kinds, without those that a constraint rules out."""
    return Space(
        [
            Factorization("tile_m", 512, 4),
            Factorization("tile_n", 384, 4),
            Factorization("tile_k", 256, 3),
            Permutation("order", tuple("mnkrs")),
            Ordinal("unroll", (0, 4, 16, 64)),
            Ordinal("stages", (1, 2, 3, 4)),
            Ordinal("warps", (1, 2, 4, 8)),
            Categorical("pad", ("inline", "root", "apart")),
            *(Categorical(f"flag_{i}", (False, True)) for i in range(5)),
        ],
        [Constraint("tile_m[1] * tile_n[1] <= 1024")],
    )


_FAMILIES: Mapping[str, Callable[[], Space]] = {
    "ordinals": _ordinals,
    "categories": _categories,
    "permutations": _permutations,
    "mixed": _mixed,
}

# The share of configs that fail in a member of the mixed family.
_FAILING = (0.1, 0.3, 0.6)


def synthetic_names() -> list[str]:
    """The names of all synthetic spaces."""
    return [f"synthetic.{family}.{member}" for family in _FAMILIES for member in range(MEMBERS)]


@cache
def synthetic(name: str) -> Landscape:
    """The space of this name. Raises ``UsageError`` for one that there is not."""
    if name not in synthetic_names():
        raise unknown_name("synthetic space", name, synthetic_names())
    _, family, number = name.split(".")
    member = int(number)
    return Landscape(
        _FAMILIES[family](),
        seed=member,
        pairs=_PAIRS[member % len(_PAIRS)],
        rugged=_RUGGED[member % len(_RUGGED)],
        failing=_FAILING[member % len(_FAILING)] if family == "mixed" else 0.0,
    )
