"""The fastest programs within a limit of bytes, against trying everything."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import examples
from tunesmith.networks.build.growth import (
    Option,
    fastest_with_shared,
    fastest_within,
    smallest,
)

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


SHARED = 10
"""The bytes of the weights that all tasks below read, as they are or in layouts of their own."""

sharing = st.lists(
    st.lists(
        st.builds(
            lambda seconds, size: Option(seconds, size or SHARED, 0 if size else SHARED),
            st.integers(1, 50).map(float),
            st.one_of(st.none(), st.integers(1, 40)),
        ),
        min_size=1,
        max_size=3,
    ),
    min_size=1,
    max_size=3,
)


@given(sharing, st.integers(0, 90))
@examples(200)
def test_what_tasks_share_is_counted_once(options: list[list[Option]], limit: int) -> None:
    def in_memory(chosen: list[Option]) -> int:
        size = sum(option.bytes - option.shared for option in chosen)
        return size + (SHARED if any(option.shared for option in chosen) else 0)

    found = fastest_with_shared(options, limit, SHARED)
    all_laid_out = [[it for it in task if not it.shared] for task in options]
    unless_all_are = [[Option(it.seconds, it.bytes - it.shared) for it in task] for task in options]
    # One byte less makes up for what rounding costs, which is other than among all options.
    apart = fastest_within(all_laid_out, limit - 1) if all(all_laid_out) else None
    once = fastest_within(unless_all_are, limit - SHARED)
    if found is None:
        assert apart is None
        assert once is None
        return
    chosen = [task[number] for task, number in zip(options, found, strict=True)]
    assert in_memory(chosen) <= limit
    seconds = sum(option.seconds for option in chosen)
    for many, numbers in ((all_laid_out, apart), (unless_all_are, once)):
        if numbers is not None:
            assert seconds <= total(many, numbers).seconds
