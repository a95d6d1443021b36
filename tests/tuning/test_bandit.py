"""Sharing trials among searches: most to those that are ahead, and enough to be surprised."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from tunesmith.tuning.bandit import Allocation, Bandit

Arm = Callable[[int], float]
"""The seconds that an arm's trial of that number gives, counted from 1."""


def play(
    arms: Sequence[Arm],
    trials: int,
    promises: Sequence[float | None] | None = None,
    pending: int = 0,
) -> Allocation:
    """Let arms have their trials; the last ``pending`` ones chosen are not observed yet."""
    allocation = Bandit().start(len(arms))
    if promises is not None:
        allocation.expect(promises)
    counts = [itertools.count(1) for _ in arms]
    waiting: list[tuple[int, float]] = []
    for _ in range(trials):
        arm = allocation.choose(range(len(arms)))
        allocation.give(arm)
        waiting.append((arm, arms[arm](next(counts[arm]))))
        if len(waiting) > pending:
            allocation.observe(*waiting.pop(0))
    return allocation


def level(best: float) -> Arm:
    """Comes down to its best within ten trials."""
    return lambda trial: best * max(1.0, 3.0 - 0.2 * trial)


def test_the_best_arm_has_most_trials() -> None:
    given = play([level(2.0), level(1.0), level(1.5), level(4.0)], 300).given
    assert given[1] > 0.7 * sum(given)
    assert given[2] > given[0] > given[3]


def test_arms_that_are_equally_good_have_about_equally_many() -> None:
    given = play([level(1.0)] * 3, 300).given
    assert max(given) < 1.5 * min(given)


def test_who_is_close_is_looked_at_more_than_who_is_far() -> None:
    given = play([level(1.0), level(1.05), level(3.0)], 300).given
    assert given[0] > given[1] > 2 * given[2]


def test_a_hopeless_arm_has_few_trials_but_never_none_at_all() -> None:
    short, long = (play([level(1.0), level(50.0)], trials).given for trials in (100, 2000))
    assert short[1] <= 10
    assert 40 <= long[1] <= 100


def test_a_late_bloomer_is_found() -> None:
    def late(trial: int) -> float:
        return 4.0 * 0.97**trial

    given = play([level(1.0), late], 1500).given
    assert late(given[1]) < 0.5
    assert given[1] > given[0]


def test_an_arm_that_only_fails_is_not_given_up_entirely() -> None:
    given = play([level(1.0), lambda trial: math.inf], 200).given
    assert 3 <= given[1] <= 20


def test_times_that_are_as_far_apart_as_numbers_can_be() -> None:
    given = play([lambda trial: 1e300 if trial < 8 else 1e-320, lambda _: 1e300], 100).given
    assert given[0] > given[1] > 0


def test_where_nothing_is_valid_all_go_on() -> None:
    given = play([lambda trial: math.inf] * 2, 50).given
    assert given == [25, 25]


def test_the_first_arm_comes_first_and_then_the_most_promising() -> None:
    allocation = Bandit(first=2).start(3)
    allocation.expect([3.0, 2.5, 1.0])
    order = []
    for _ in range(6):
        arm = allocation.choose({0, 1, 2})
        allocation.give(arm)
        order.append(arm)
    assert order == [0, 2, 1, 2, 1, 0]


def test_what_promises_little_begins_with_a_single_trial() -> None:
    given = play([lambda trial: math.inf] * 3, 7, promises=[1.0, None, 3.1]).given
    assert given == [3, 3, 1]


def test_only_open_arms_are_chosen() -> None:
    allocation = play([level(1.0), level(2.0)], 50)
    assert {allocation.choose([1]) for _ in range(3)} == {1}


def test_what_an_arm_could_not_use_is_taken_back() -> None:
    allocation = Bandit().start(2)
    allocation.give(0, 5)
    allocation.give(0, -4)
    assert allocation.given == [1, 0]
    assert allocation.choose([0, 1]) == 1


@given(
    bests=st.lists(st.floats(0.1, 10.0), min_size=1, max_size=6),
    trials=st.integers(1, 200),
    pending=st.integers(0, 20),
)
def test_any_arms_share_all_trials(bests: list[float], trials: int, pending: int) -> None:
    given = play([level(best) for best in bests], trials, pending=pending).given
    assert sum(given) == trials
    assert all(given) or trials < 3 * len(bests)
