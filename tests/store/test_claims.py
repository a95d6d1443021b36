"""Claims: of several runs at a store, one measures a config."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from tunesmith.space import Config
from tunesmith.store import Session, Store, open_store
from tunesmith.store.database import Database
from tunesmith.store.place import locate
from tunesmith.store.schema import claims
from tunesmith.testing.store import begin, trial

_START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def stores(location: str) -> Iterator[tuple[Store, Store]]:
    with open_store(location) as one, open_store(location) as two:
        yield one, two


def config(number: int) -> Config:
    return trial(number).config


def claim(
    store: Store, session: Session, *numbers: int, seconds: float = 60.0, at: float = 0.0
) -> list[float]:
    wanted = [(session, config(number)) for number in numbers]
    return store.claim(wanted, seconds, now=_START + timedelta(seconds=at))


def rows(location: str) -> int:
    database = Database(locate(location), patience=10.0)
    try:
        query = select(func.count()).select_from(claims)
        return database.read(lambda connection: connection.execute(query).scalar_one())
    finally:
        database.close()


def test_what_is_claimed_is_not_free_for_another(stores: tuple[Store, Store]) -> None:
    one, two = stores
    first, second = begin(one), begin(two)
    assert claim(one, first, 1, 2) == [0.0, 0.0]
    assert claim(two, second, 2, 3, at=15.0) == [45.0, 0.0]
    assert claim(one, first, 2, 3, at=30.0) == [0.0, 45.0], "its own it may claim again"
    assert claim(one, first) == []


def test_a_claim_expires(stores: tuple[Store, Store]) -> None:
    one, two = stores
    first, second = begin(one), begin(two)
    claim(one, first, 1)
    assert claim(two, second, 1, at=59.9) == [pytest.approx(0.1)]
    assert claim(two, second, 1, at=60.0) == [0.0]
    one.renew_claims(first, 600.0, now=_START + timedelta(seconds=61))
    assert claim(two, second, 1, at=100.0) == [0.0], "what was taken over is not renewed"
    assert claim(one, first, 1, at=100.0) == [60.0]


def test_a_renewed_claim_lasts(stores: tuple[Store, Store]) -> None:
    one, two = stores
    first, second = begin(one), begin(two)
    claim(one, first, 1)
    one.renew_claims(first, 60.0, now=_START + timedelta(seconds=50))
    assert claim(two, second, 1, at=70.0) == [40.0]


def test_a_record_ends_the_claim_and_says_that_the_config_is_measured(
    stores: tuple[Store, Store], location: str
) -> None:
    one, two = stores
    first, second = begin(one), begin(two)
    claim(one, first, 1, 2)
    one.append(first, [trial(1, 1.0)])
    assert rows(location) == 1
    assert claim(two, second, 1, 2, 3) == [math.inf, 60.0, 0.0]
    assert rows(location) == 2, "what is measured is claimed by nobody"
    one.confirm(first, [trial(3, 1.0)])
    assert claim(two, second, 3) == [0.0], "a play-off is no trial"


def test_the_end_of_a_run_ends_its_claims(stores: tuple[Store, Store], location: str) -> None:
    one, two = stores
    first, second = begin(one), begin(two)
    claim(one, first, 1, 2)
    claim(two, second, 3)
    one.finish_session(first, stopped="seconds")
    assert rows(location) == 1
    assert claim(two, second, 1, 2) == [0.0, 0.0]


def test_what_dead_runs_have_left_is_removed_by_the_next(
    stores: tuple[Store, Store], location: str
) -> None:
    one, two = stores
    first, second = begin(one), begin(one)
    one.claim([(first, config(1))], 0.0)
    one.claim([(second, config(2))], 600.0)
    assert rows(location) == 2
    begin(two)
    assert rows(location) == 1


def test_series_do_not_disturb_each_other(stores: tuple[Store, Store]) -> None:
    one, two = stores
    assert claim(one, begin(one), 1) == [0.0]
    assert claim(two, begin(two, sketch="other"), 1) == [0.0]
    assert claim(two, begin(two, version=2), 1) == [0.0]
    assert claim(two, begin(two, task="conv2d"), 1) == [0.0]


def test_configs_of_several_sketches_in_one_claim(stores: tuple[Store, Store]) -> None:
    one, two = stores
    first, second = begin(one), begin(two)
    one.claim([(first.by("other", 3), config(1))], 60.0, now=_START)
    wanted = [(second, config(1)), (second.by("other", 3), config(1))]
    assert two.claim(wanted, 60.0, now=_START) == [0.0, 60.0]


def test_by_the_servers_clock(stores: tuple[Store, Store]) -> None:
    one, two = stores
    wanted = config(1)
    assert one.claim([(begin(one), wanted)], 600.0) == [0.0]
    (left,) = two.claim([(begin(two), wanted)], 600.0)
    assert 0.0 < left <= 600.0


# What one of two runs does: its store, the action, configs, how long its claims last, and how many
# seconds later.
_ACTIONS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(["claim", "claim", "claim", "renew", "measure"]),
        st.sets(st.integers(1, 4), min_size=1, max_size=3),
        st.integers(1, 50),
        st.integers(0, 30),
    ),
    max_size=12,
)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(actions=_ACTIONS)
def test_two_never_hold_one_config(
    stores: tuple[Store, Store], actions: list[tuple[int, str, set[int], int, int]]
) -> None:
    task = uuid.uuid4().hex
    sessions = [begin(store, task=task) for store in stores]
    holder: dict[int, tuple[int, float]] = {}  # who, and until when
    measured: set[int] = set()
    now = 0.0
    for who, action, numbers, seconds, later in actions:
        now += later
        live = {each: held for each, held in holder.items() if held[1] > now}
        if action == "claim":
            wanted = sorted(numbers)
            waits = claim(stores[who], sessions[who], *wanted, seconds=seconds, at=now)
            for number, wait in zip(wanted, waits, strict=True):
                if wait == 0:
                    assert number not in measured
                    assert live.get(number, (who, 0.0))[0] == who, "another one holds it"
                    holder[number] = (who, now + seconds)
                elif math.isinf(wait):
                    assert number in measured
                else:
                    other, until = live[number]
                    assert other != who
                    assert wait == pytest.approx(until - now)
        elif action == "renew":
            moment = _START + timedelta(seconds=now)
            stores[who].renew_claims(sessions[who], seconds, now=moment)
            mine = [each for each, held in holder.items() if held[0] == who]
            holder.update(dict.fromkeys(mine, (who, now + seconds)))
        else:
            mine = [each for each in numbers if live.get(each, (None,))[0] == who]
            stores[who].append(sessions[who], [trial(each, 1.0) for each in mine])
            measured |= set(mine)
            for each in mine:
                del holder[each]
