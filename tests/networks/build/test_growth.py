"""The fastest programs within a limit of bytes, against trying everything."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import examples
from tunesmith.networks.build.growth import Option, fastest_within, smallest

tasks = st.lists(
    st.lists(st.builds(Option, st.integers(1, 50).map(float), st.integers(0, 40)), min_size=1),
    max_size=4,
)


def total(options: list[list[Option]], numbers: list[int]) -> Option:
    chosen = [task[number] for task, number in zip(options, numbers, strict=True)]
    return Option(sum(it.seconds for it in chosen), sum(it.bytes for it in chosen))


@given(tasks.map(lambda many: [task[:4] for task in many]), st.integers(0, 160))
@examples(200)
def test_it_is_the_best_of_all_sets(options: list[list[Option]], limit: int) -> None:
    found = fastest_within(options, limit)
    choices = product(*(range(len(task)) for task in options))
    every = [total(options, list(numbers)) for numbers in choices]
    fitting = [each.seconds for each in every if each.bytes <= limit]
    if found is None:
        assert not fitting
        assert total(options, smallest(options)).bytes == min(each.bytes for each in every) > limit
        return
    made = total(options, found)
    assert made.bytes <= limit
    # A byte is at least 25 units: rounding four sizes up costs less than one.
    with_a_byte_left = [each.seconds for each in every if each.bytes < limit]
    assert min(fitting) <= made.seconds <= min(with_a_byte_left, default=math.inf)


def test_without_a_limit_each_task_gets_its_fastest() -> None:
    options = [[Option(2.0, 1), Option(1.0, 10**9)], [Option(1.0, 5), Option(3.0, 0)]]
    assert fastest_within(options, math.inf) == [1, 0]


def test_a_limit_that_only_the_smallest_keep() -> None:
    options = [[Option(1.0, 7), Option(2.0, 3)], [Option(1.0, 4)]]
    assert fastest_within(options, 7) == [1, 0]
    assert fastest_within(options, 6.9) is None
    assert smallest(options) == [1, 0]


def test_bytes_are_rounded_up() -> None:
    """Options that fill the limit together to the last byte, of sizes that no unit divides."""
    third = 10**9 // 3
    options = [[Option(1.0, third), Option(5.0, 0)]] * 3
    found = fastest_within(options, 3 * third)
    assert found is not None
    assert total(options, found).bytes <= 3 * third
    assert sum(number == 0 for number in found) >= 2


@pytest.mark.parametrize("limit", [0.0, 1.0, math.inf])
def test_no_tasks_need_nothing(limit: float) -> None:
    assert fastest_within([], limit) == []
