"""Which task gets the next seconds."""

from __future__ import annotations

import itertools
import math

import pytest

from tunesmith.networks.allocation import Account, next_task


def account(weight: int, *slices: tuple[float, float], closed: bool = False) -> Account:
    """An account after slices of so many seconds that ended with such times."""
    made = Account(weight)
    for seconds, best in slices:
        made.spend(seconds, 20, best)
    made.closed = closed
    return made


def test_tasks_without_a_time_come_first_in_their_order() -> None:
    accounts = [account(1, (10, 1e-3)), account(1), account(9)]
    assert next_task(accounts) == 1


def test_a_task_without_a_valid_trial_is_tried_again() -> None:
    failed = account(1, (10, math.inf))
    assert math.isinf(failed.expected_gain)
    assert next_task([account(1, (10, 1e-3)), failed]) == 1


def test_a_task_that_fails_keeps_no_other_from_its_start() -> None:
    failed = account(9, (10, math.inf))
    assert next_task([failed, account(1)]) == 1
    assert next_task([failed, account(1, (10, math.inf), (10, math.inf))]) == 0


def test_a_task_that_goes_on_failing_comes_last() -> None:
    failed = account(9, *[(10, math.inf)] * 3)
    stuck = account(1, *[(10, 1e-3)] * 9)
    assert next_task([failed, stuck]) == 1
    stuck.closed = True
    assert next_task([failed, stuck]) == 0


def test_the_task_that_the_network_calls_most_comes_first() -> None:
    assert next_task([account(1, (10, 1e-3)), account(4, (10, 1e-3))]) == 1


def test_the_slower_one_of_two_comes_first() -> None:
    assert next_task([account(1, (10, 2e-3)), account(1, (10, 1e-3))]) == 0


def test_a_task_that_gains_goes_on() -> None:
    gaining = account(1, (10, 4e-3), (10, 2e-3))
    assert next_task([account(1, (10, 4e-3)), gaining]) == 1
    assert gaining.expected_gain == pytest.approx(0.5 * 2e-3 / 10)


def test_slices_that_gain_nothing_end_the_hope() -> None:
    hopes = []
    stuck = account(1, (10, 1e-3))
    for _ in range(4):
        hopes.append(stuck.expected_gain)
        stuck.spend(10, 20, 1e-3)
    assert all(later < 0.6 * before for before, later in itertools.pairwise(hopes))


def test_a_worse_slice_does_not_spoil_the_time() -> None:
    assert account(1, (10, 1e-3), (10, 2e-3)).best == 1e-3


def test_closed_tasks_get_nothing() -> None:
    assert next_task([account(1, (10, 1e-3), closed=True)]) is None
    assert next_task([]) is None
