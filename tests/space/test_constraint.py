"""Constraints written as expressions and as Python functions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from tunesmith.errors import SpaceError
from tunesmith.space import Constraint, Factorization, Ordinal, Space


def small(first: int, second: int) -> bool:
    return first * second <= 4


def test_an_expression_knows_the_names_it_reads() -> None:
    constraint = Constraint("tile[1] * threads <= 1024 or layout in ('x', 'y')")
    assert constraint.names == ("layout", "threads", "tile")
    assert constraint.holds({"tile": (2, 4), "threads": 256, "layout": "z"})
    assert not constraint.holds({"tile": (2, 8), "threads": 256, "layout": "z"})


def test_constraints_compare_and_pickle() -> None:
    assert Constraint("a < b") == Constraint("a < b")
    assert Constraint("a < b") != Constraint("b > a")
    assert pickle.loads(pickle.dumps(Constraint("a < b"))) == Constraint("a < b")
    predicate = Constraint.of(["a", "b"], small, "small")
    assert pickle.loads(pickle.dumps(predicate)) == predicate
    assert str(predicate) == "small"


def test_a_predicate_gets_the_values_in_the_order_of_its_names() -> None:
    predicate = Constraint.of(["b", "a"], lambda b, a: (b, a) == (1, 2), "pair")
    assert predicate.names == ("b", "a")
    assert predicate.holds({"a": 2, "b": 1, "c": 3})


def test_a_space_with_a_predicate_counts_and_samples_as_with_an_expression() -> None:
    parameters = [Factorization("m", 64, 3), Ordinal("a", range(1, 9)), Ordinal("b", range(1, 9))]
    written = Space(parameters, ["a * b <= m[1]"])
    python = Space(
        parameters, [Constraint.of(["a", "b", "m"], lambda a, b, m: a * b <= m[1], "fits")]
    )
    assert python.size == written.size
    assert list(python.enumerate()) == list(written.enumerate())
    rng = np.random.default_rng(0)
    assert all(written.contains(python.sample(rng)) for _ in range(50))


def test_a_predicate_cannot_be_written_as_json() -> None:
    space = Space([Ordinal("a", [1, 2])], [Constraint.of(["a"], lambda a: a > 1, "large")])
    with pytest.raises(
        SpaceError, match=r"'large' is a Python function.*write it as an expression"
    ):
        space.to_json()


def test_an_error_inside_a_predicate_names_it_and_its_values() -> None:
    predicate = Constraint.of(["a"], lambda a: a.missing, "broken")
    with pytest.raises(SpaceError, match=r"'broken' failed on \[3\]: AttributeError") as caught:
        predicate.holds({"a": 3})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("names", [[], "ab", [1]])
def test_a_predicate_says_what_it_reads(names: object) -> None:
    with pytest.raises(SpaceError, match="constraint 'x' reads"):
        Constraint.of(names, bool, "x")  # type: ignore[arg-type]


def test_what_it_joins_by_and() -> None:
    joined = Constraint("a == 1 and (b == 2 and c > b) and 1 < 2 and (a == 1 or b == 3)")
    assert [part.names for part in joined.conjuncts] == [("a",), ("b",), ("b", "c"), ("a", "b")]
    assert Constraint("a == 1 or b == 2").conjuncts == ()
    assert Constraint("not (a == 1 and b == 2)").conjuncts == ()
    assert Constraint.of(["a"], bool).conjuncts == ()


def test_a_condition_that_cannot_be_evaluated_is_left_to_its_constraint() -> None:
    """What stands before it may rule the case out, as Python's short circuit does."""
    joined = Constraint("k != 0 and n % k == 0")
    _, divides = joined.conjuncts
    assert divides.holds({"k": 0, "n": 4})
    assert not divides.holds({"k": 3, "n": 4})
    assert not joined.holds({"k": 0, "n": 4})
    numbers = tuple(range(5))
    space = Space([Ordinal("n", numbers), Ordinal("k", numbers), Ordinal("m", numbers)])
    tied = Space(space.parameters, ["k != 0 and n % k == 0 and m == k"])
    found = {(config["n"], config["k"], config["m"]) for config in tied.enumerate()}
    assert found == {(n, k, k) for n in numbers for k in numbers if k and n % k == 0}
    assert tied.size == len(found)


def test_five_valid_of_a_billion_in_one_constraint() -> None:
    digits = tuple(range(10))
    names = "abcdefghi"
    wanted = " and ".join(f"{name} == {place}" for place, name in enumerate(names[:-1]))
    space = Space([Ordinal(name, digits) for name in names], [f"{wanted} and i % 2 == 1"])
    assert space.cartesian_size == 10**9
    assert space.size == 5
    sampled = space.sample_many(9, np.random.default_rng(0))
    assert sorted(str(config["i"]) for config in sampled) == ["1", "3", "5", "7", "9"]
    assert [config["i"] for config in space.enumerate()] == [1, 3, 5, 7, 9]
