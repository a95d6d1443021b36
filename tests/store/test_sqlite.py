"""The store over SQLite, in a file and in memory: what every store does."""

from __future__ import annotations

import re
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.store.statements import statements_of
from tunesmith.store import Store, open_store
from tunesmith.testing.store import StoreConformance, begin, trial


class TestSqlite(StoreConformance):
    @pytest.fixture
    def location(self, tmp_path: Path) -> Path:
        return tmp_path / "a folder" / "new%20?#" / "records.db"


class TestMemory(StoreConformance):
    @pytest.fixture
    def location(self) -> str:
        return "sqlite://"

    def test_what_is_stored_outlives_the_handle(self, location: str | Path) -> None:
        """Which memory alone cannot do: each handle starts with nothing."""
        with open_store(location) as store:
            store.append(begin(store), [trial(1, 1.0)])
        with open_store(location) as store:
            assert store.tasks() == []

    def test_other_threads_see_the_same_store(self, store: Store) -> None:
        store.append(begin(store), [trial(1, 1.0)])
        counts: list[int] = []
        reader = threading.Thread(target=lambda: counts.append(store.count("matmul")))
        reader.start()
        reader.join()
        assert counts == [1]


def test_what_a_batch_asks_takes_no_longer_in_a_large_store(tmp_path: Path) -> None:
    """No statement reads all records of a series."""
    file = tmp_path / "store.db"
    trials = [trial(number, 1.0 + number) for number in range(4)]
    with open_store(file) as store:
        session, news = begin(store), store.news("matmul")

        def batch() -> None:
            store.claim([(session, each.config) for each in trials], 30.0)
            store.append(session, trials)
            store.confirm(session, trials[:1])
            store.best("matmul")
            news.read("")

        asked = statements_of(batch)
    seen = set()
    with closing(sqlite3.connect(file)) as connection:
        for statement, given in asked:
            if statement.startswith(("SELECT", "DELETE")):
                plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", given)
                seen |= {step for *_, step in plan if re.search(r"\b(records|other)\b", step)}
    assert any("(series_id=? AND config_hash=?)" in step for step in seen)
    whole = (r"SCAN", r"\(series_id=\?\)", r"\(series_id=\? AND play_off=\?\)", r"\(play_off=\?\)")
    assert [step for step in seen if re.search("|".join(whole), step)] == []
