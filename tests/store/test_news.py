"""What other runs of a task store from a moment on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tunesmith.store import Store, open_store
from tunesmith.testing.store import begin, trial


@pytest.fixture
def stores(location: str) -> Iterator[tuple[Store, Store]]:
    with open_store(location) as one, open_store(location) as two:
        yield one, two


def test_new_trials_of_others_are_read_once(stores: tuple[Store, Store]) -> None:
    one, two = stores
    earlier = begin(two)
    two.append(earlier, [trial(1, 1.0)])
    news = one.news("matmul")
    own = begin(one)
    one.append(own, [trial(2, 1.0)])
    assert news.read(own.uid) == []
    two.append(earlier, [trial(3, 1.0)])
    later = begin(two, version=2)
    two.append(later, [trial(4, 1.0)])
    two.confirm(later, [trial(4, 2.0)])
    found = news.read(own.uid)
    assert [(new.measurement, new.sketch_version) for new in found] == [
        (trial(3, 1.0), 1),
        (trial(4, 1.0), 2),
    ]
    assert news.read(own.uid) == []
    two.append(earlier, [trial(5, 1.0)])
    assert [new.measurement for new in news.read(own.uid)] == [trial(5, 1.0)]


def test_runs_that_ended_meanwhile(stores: tuple[Store, Store]) -> None:
    one, two = stores
    going = begin(two)
    news = one.news("matmul")
    short = begin(two)
    for number, session in enumerate([going, short], start=1):
        two.append(session, [trial(number, 1.0)])
        two.finish_session(session, stopped="trials")
    assert [new.measurement for new in news.read("")] == [trial(1, 1.0), trial(2, 1.0)]


def test_other_tasks_are_no_news(stores: tuple[Store, Store]) -> None:
    one, two = stores
    news = one.news("matmul")
    two.append(begin(two, task="conv2d"), [trial(1, 1.0)])
    other = {"fingerprint": "0123", "cpu": "another"}
    elsewhere = two.begin_session("matmul", tuner="grid", seed=0, machine=other, sketch="tiles")
    two.append(elsewhere, [trial(2, 1.0)])
    assert news.read("") == []
