"""Numbering without listing: the same combinations in the same order as those that are listed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tunesmith.space import Constraint, Ordinal, Parameter
from tunesmith.space.enumeration.diagram import Diagram
from tunesmith.space.enumeration.join import Join, JoinLimitError

PARAMETERS: list[Parameter] = [Ordinal(name, range(1, 7)) for name in "abcde"]
FEW = ["a * b <= 12", "b <= c", "(c + d) % 3 != 0", "e == 1 or d > 2"]


def listed(parameters: Sequence[Parameter], constraints: Sequence[Constraint]) -> list[list[int]]:
    blocks = list(Join(parameters, constraints).blocks())
    return np.concatenate(blocks).tolist() if blocks else []


@pytest.mark.parametrize("count", range(1, len(FEW) + 1))
def test_it_numbers_what_is_listed_in_the_same_order(count: int) -> None:
    constraints = [Constraint(text) for text in FEW[:count]]
    expected = listed(PARAMETERS, constraints)
    diagram = Diagram(PARAMETERS, constraints, 10**6)
    assert diagram.count == len(expected) > 0
    assert [diagram.at(number) for number in range(diagram.count)] == expected
    backwards = np.arange(diagram.count)[::-1]
    assert np.stack(diagram.columns_at(backwards), axis=1).tolist() == expected[::-1]


def test_constraints_of_python_count_as_well() -> None:
    def prime(a: int, e: int) -> bool:
        return a + e in (2, 3, 5, 7, 11)

    constraints = [Constraint.of(("a", "e"), prime), Constraint("b < c")]
    expected = listed(PARAMETERS, constraints)
    diagram = Diagram(PARAMETERS, constraints, 10**6)
    assert [diagram.at(number) for number in range(diagram.count)] == expected


def test_where_nothing_is_valid_there_is_nothing() -> None:
    assert Diagram(PARAMETERS, [Constraint("a > 6"), Constraint("b < c")], 10**6).count == 0


def test_millions_cost_thousands() -> None:
    parameters = [Ordinal(f"p{i}", range(1, 21)) for i in range(8)]
    constraints = [Constraint(f"p{i} != p{i + 1}") for i in range(7)]
    diagram = Diagram(parameters, constraints, 10_000)
    assert diagram.count == 20 * 19**7
    assert diagram.at(0) == [0, 1] * 4
    assert diagram.at(diagram.count - 1) == [19, 18] * 4


def test_more_than_fit_into_64_bits_are_counted() -> None:
    parameters = [Ordinal(f"p{i}", range(1, 101)) for i in range(12)]
    constraints = [Constraint(f"p{i} <= p{i + 1} or p{i} > 0") for i in range(11)]
    diagram = Diagram(parameters, constraints, 10**6)
    assert diagram.count == 100**12 > 1 << 63
    assert diagram.at(100**12 - 1) == [99] * 12
    assert diagram.at(100**11 + 5) == [1] + [0] * 10 + [5]


def test_the_limit_bounds_the_rows_that_are_looked_at() -> None:
    with pytest.raises(JoinLimitError):
        Diagram(PARAMETERS, [Constraint("a + b + c + d + e == 20")], 1000)
