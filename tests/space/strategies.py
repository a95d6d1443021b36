"""Hypothesis strategies for parameters, spaces and values."""

from __future__ import annotations

from hypothesis import strategies as st

from tunesmith.space import (
    Categorical,
    Config,
    Factorization,
    Ordinal,
    Parameter,
    Permutation,
    Space,
)

NAMES = ("m", "k", "n", "order", "unroll")

finite = st.floats(allow_nan=False, allow_infinity=False, width=32)
numbers = st.integers(-1000, 1000) | finite
scalars = st.booleans() | numbers | st.text(max_size=4)
values = scalars | st.lists(st.integers(-9, 9) | finite | st.text(max_size=2), max_size=3).map(
    tuple
)


def factorizations(name: str = "m") -> st.SearchStrategy[Factorization]:
    """Products with one prime and with many, primes, and 1."""
    return st.builds(
        Factorization, st.just(name), product=st.integers(1, 96), parts=st.integers(1, 4)
    )


def permutations(name: str = "order") -> st.SearchStrategy[Permutation]:
    items = st.lists(st.integers(0, 9) | st.text(max_size=2), min_size=1, max_size=4, unique=True)
    return st.builds(Permutation, st.just(name), items=items)


def ordinals(name: str = "unroll") -> st.SearchStrategy[Ordinal]:
    return st.builds(
        Ordinal, st.just(name), values=st.lists(numbers, min_size=1, max_size=6, unique=True)
    )


def categoricals(name: str = "choice") -> st.SearchStrategy[Categorical]:
    return st.builds(
        Categorical, st.just(name), values=st.lists(values, min_size=1, max_size=6, unique=True)
    )


def parameters(name: str = "p") -> st.SearchStrategy[Parameter]:
    """Any kind of parameter, small enough to go through all its values."""
    return st.one_of(factorizations(name), permutations(name), ordinals(name), categoricals(name))


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """Up to three parameters of any kind, and up to two constraints on those that are numbers."""
    chosen = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    made = [draw(parameters(name)) for name in chosen]
    terms = [_number_of(parameter) for parameter in made if _number_of(parameter)]
    constraints = []
    if terms:
        for _ in range(draw(st.integers(0, 2))):
            left, right = draw(st.sampled_from(terms)), draw(st.sampled_from(terms))
            symbol = draw(st.sampled_from(["<", "<=", "==", "!=", ">"]))
            offset = draw(st.integers(-3, 3))
            constraints.append(f"{left} {symbol} {right} + {offset}")
        if len(constraints) == 2 and draw(st.booleans()):
            constraints = [f" {draw(st.sampled_from(['and', 'or']))} ".join(constraints)]
    return Space(made, constraints)


def _number_of(parameter: Parameter) -> str | None:
    """An expression for a number that this parameter's value has."""
    if isinstance(parameter, Factorization):
        return f"{parameter.name}[{parameter.parts - 1}]"
    return parameter.name if isinstance(parameter, Ordinal) else None


def configs() -> st.SearchStrategy[Config]:
    return st.dictionaries(st.text(min_size=1, max_size=5), values, max_size=5).map(Config)
