"""Stores that are opened to be watched: nothing is written, and sums are those of the records."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from tunesmith.errors import StoreError, UsageError
from tunesmith.measurement import Outcome
from tunesmith.store import open_overview, open_store
from tunesmith.store.aggregates import Stretch
from tunesmith.testing.store import begin, failed, trial


def test_nothing_can_be_written(location: str) -> None:
    with open_store(location) as store:
        store.append(begin(store), [trial(1, 1.0)])
    with open_overview(location) as overview:
        with pytest.raises(StoreError, match="read-only") as raised:
            overview._database.write(lambda it: it.execute(text("DELETE FROM records")))
        assert "\n" not in str(raised.value)
        assert overview.written() == 1


def test_a_file_of_any_name_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a b?#%.db"
    with open_store(path) as store:
        store.append(begin(store), [trial(1, 1.0)])
    before = path.read_bytes()
    with open_overview(path) as overview:
        assert [tally.count for tally in overview.tallies(0, 9)] == [1]
    assert path.read_bytes() == before


def test_what_others_store_meanwhile_is_seen(location: str) -> None:
    with open_store(location) as store:
        session = begin(store)
        with open_overview(location) as overview:
            states = [overview.state()]
            store.append(session, [trial(1, 1.0)])
            states.append(overview.state())
            store.finish_session(session, stopped="trials")
            states.append(overview.state())
    assert len(set(states)) == 3


def test_tallies_are_of_each_run_sketch_and_outcome(location: str) -> None:
    with open_store(location) as store:
        one, two = begin(store), begin(store)
        store.append(one, [trial(1, 3.0), failed(2), trial(3, 2.0)])
        store.append(two.by("other", 1), [trial(1, 5.0)])
        store.confirm(one, [trial(3, 2.5)])
    with open_overview(location) as overview:
        found = [
            (it.session, it.play_off, it.outcome, it.count, it.seconds, it.first, it.last)
            for it in overview.tallies(0, 5)
        ]
        later = overview.tallies(4, 5)
    assert sorted(found, key=str) == [
        (1, False, Outcome.NO_ERROR, 2, 2.0, 1, 3),
        (1, False, Outcome.RUNTIME_DEVICE, 1, None, 2, 2),
        (1, True, Outcome.NO_ERROR, 1, 2.5, 5, 5),
        (2, False, Outcome.NO_ERROR, 1, 5.0, 4, 4),
    ]
    assert [it.count for it in later] == [1]


def test_stretches_of_a_run(location: str) -> None:
    with open_store(location) as store:
        session, other = begin(store), begin(store)
        store.append(session, [trial(1, 3.0), failed(2), trial(3, 2.0)])
        store.append(other, [trial(4, 1.0)])
        store.append(session, [trial(5, 4.0)])
    with open_overview(location) as overview:
        pairs = overview.stretches(1, 1, 2)
        later = overview.stretches(1, 3, 1)
    assert [(it.first, it.trials, it.valid, it.seconds) for it in pairs] == [
        (1, 2, 1, 3.0),
        (3, 1, 1, 2.0),
        (5, 1, 1, 4.0),
    ]
    assert [it.first for it in later] == [3, 5]
    assert all(isinstance(it, Stretch) and it.created > 0 for it in pairs)


def test_trials_that_tell_of_a_series(location: str) -> None:
    with open_store(location) as store:
        session = begin(store)
        store.append(session, [trial(number, 10.0 - number) for number in range(1, 9)])
        store.append(session, [failed(20)])
        store.confirm(session, [trial(8, 0.5)])
    with open_overview(location) as overview:
        assert [it.seconds for it in overview.fastest(1, 3)] == [2.0, 3.0, 4.0]
        assert [it.seconds for it in overview.spread(1, 4)] == [6.0, 2.0]
        (failure,) = overview.last_failures([1], 2)
    assert failure.outcome is Outcome.RUNTIME_DEVICE
    assert failure.message == Outcome.RUNTIME_DEVICE.meaning
    assert '"tile":[20,2]' in failure.config


def test_sessions_that_are_new_or_have_ended(location: str) -> None:
    with open_store(location) as store, open_overview(location) as overview:
        first, _second = begin(store), begin(store)
        known = overview.sessions_by_id(0, set())
        assert [it.finished for it in known.values()] == [None, None]
        assert overview.sessions_by_id(2, {1, 2}) == {}
        store.finish_session(first, stopped="trials")
        begin(store)
        found = overview.sessions_by_id(2, {1, 2})
    assert {number: it.stopped for number, it in found.items()} == {1: "trials", 3: ""}


def test_stores_that_cannot_be_watched(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no store at"):
        open_overview(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    empty = tmp_path / "empty.db"
    empty.touch()
    with pytest.raises(UsageError, match="no store at"):
        open_overview(empty)


@pytest.mark.parametrize(
    ("revision", "answer"), [("0001", "'tunesmith history --store"), ("9999", "upgrade Tunesmith")]
)
def test_a_store_of_another_version_is_not_touched(
    revision: str, answer: str, tmp_path: Path
) -> None:
    path = tmp_path / "records.db"
    open_store(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE tunesmith_schema SET version_num = ?", (revision,))
    with pytest.raises(StoreError, match=answer):
        open_overview(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM tunesmith_schema").fetchall() == [(revision,)]
