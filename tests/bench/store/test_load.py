"""Many writers at one store: what is reported, not how fast it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import text

from tunesmith.bench.store import load
from tunesmith.bench.store.load import LoadSettings, measure_load
from tunesmith.bench.store.page import store_page
from tunesmith.bench.store.server import own_server
from tunesmith.errors import MissingDependencyError, TunesmithError, UsageError
from tunesmith.store import open_store
from tunesmith.store.database import Database
from tunesmith.store.place import locate

MACHINE = {"fingerprint": "f", "cpu": "Some CPU", "cores": 2, "memory_gib": 8}
ROW: dict[str, Any] = {
    "store": "PostgreSQL 15.1",
    "records": 1_000_000,
    "writers": 16,
    "batch": 100,
    "lost": 0,
    "twice": 1,
    "deadlocks": 2,
    "seconds": 250.0,
    "records_per_second": 4000.04,
    "restart_seconds": 2.5,
    "stalled_seconds": 3.25,
    "look_ups": 700,
    "best_milliseconds": 4.04,
    "best_milliseconds_99": 9.0,
    "best_milliseconds_worst": 20.0,
    "best_milliseconds_alone": 1.5,
}
SQLITE = {
    **ROW,
    "store": "SQLite 3.40.1",
    "deadlocks": None,
    "restart_seconds": None,
    "stalled_seconds": None,
}


def test_a_small_load(postgresql_server: str) -> None:
    assert postgresql_server
    said: list[str] = []
    postgresql, sqlite = measure_load(LoadSettings(records=701, writers=3), said.append)
    assert postgresql["store"].startswith("PostgreSQL ")
    assert sqlite["store"] == f"SQLite {sqlite3.sqlite_version}"
    for row in (postgresql, sqlite):
        assert row.keys() == ROW.keys()
        assert (row["records"], row["writers"], row["lost"], row["twice"]) == (701, 3, 0, 0)
        assert 0 < row["best_milliseconds"] <= row["best_milliseconds_worst"]
        assert row["records_per_second"] == pytest.approx(701 / row["seconds"])
    assert postgresql["deadlocks"] == 0
    assert sqlite["deadlocks"] is None


def test_writers_have_opened_the_store_before_a_restart(postgresql_server: str) -> None:
    assert postgresql_server
    settings = LoadSettings(records=3, writers=3)
    clients = text("select count(*) from pg_stat_activity where backend_type = 'client backend'")
    with own_server("-c fsync=off") as server:
        open_store(server.location).close()
        database = Database(locate(server.location), 30.0)
        with closing(database), load._writers(server.location, settings) as writers:
            assert database.read(lambda connection: connection.scalar(clients)) == 1 + 3
            server.restart()
            said = [writer.communicate("\n") for writer in writers]
        assert [complaint for _, complaint in said] == [""] * 3
        assert [writer.returncode for writer in writers] == [0] * 3
        with open_store(server.location) as store:
            assert store.written() == 3


def test_each_record_has_a_writer() -> None:
    settings = LoadSettings(records=701, writers=3)
    assert [settings.share(number) for number in range(3)] == [234, 234, 233]


@pytest.mark.parametrize(
    ("records", "writers", "complaint"),
    [(5, 0, "writers must be positive, not 0"), (2, 3, "2 records are too few for 3 writers")],
)
def test_settings_that_make_no_sense(records: int, writers: int, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        LoadSettings(records, writers)


def test_a_writer_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(load, "_TASKS", 1)
    settings = LoadSettings(records=10, writers=1)
    monkeypatch.setattr(LoadSettings, "share", lambda self, writer: "many")
    with pytest.raises(TunesmithError, match=r"a writer failed: .*invalid literal"):
        load._measure(str(tmp_path / "load.db"), settings, lambda text: None, None)


def test_without_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path: None)
    with pytest.raises(MissingDependencyError) as raised:
        next(measure_load(LoadSettings(), lambda text: None))
    assert str(raised.value) == (
        "the program 'initdb' of PostgreSQL's server is missing: install PostgreSQL"
    )


def test_the_page() -> None:
    figures = {
        "machine": MACHINE,
        "versions": {"tunesmith": "0.1.0"},
        "date": "2026-01-02",
        "load_before": 0.1,
        "rows": [ROW, SQLITE],
    }
    page = store_page(figures)
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    table = {first: rest for first, *rest in lines}
    assert table["records"] == ["1,000,000", "1,000,000"]
    assert table["records lost"] == ["0", "0"]
    assert table["deadlocks"] == ["2", "–"]
    assert table["records a second"] == ["4,000.0", "4,000.0"]
    assert table["of these, the server's restart"] == ["2.5", "–"]
    assert table["their median, ms"] == ["4.0", "4.0"]
    assert "to the answer it took 3.2 s" in " ".join(page.split())
    assert "- machine: Some CPU, 2 cores, 8 GiB" in page
    assert "busy with something else" not in page
    assert "busy with something else" in " ".join(
        store_page({**figures, "load_before": 5.0}).split()
    )
    assert max(map(len, page.splitlines())) <= 100
