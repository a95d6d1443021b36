"""The store over SQLite, in a file and in memory: what every store does."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

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
