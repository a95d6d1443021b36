"""Records and runs as a notebook shows them."""

from __future__ import annotations

from pathlib import Path

from tests.reports.documents import read
from tests.reports.samples import attack
from tunesmith.store import Runs, open_store
from tunesmith.testing.store import begin, failed, trial


def test_the_runs_of_a_task_are_a_table(tmp_path: Path) -> None:
    with open_store(tmp_path / "records.db") as store:
        session = begin(store)
        begin(store)
        store.append(session, [trial(1, 2e-3), trial(2, 1e-3), failed(3)])
        runs = store.runs("matmul")
    page = read(runs._repr_html_())
    assert [cell.text for cell in page.all("td")][1:5] == ["genetic", "3", "1,000.000 µs", "tiles"]
    assert len(page.all("tr")) == 3
    assert "no runs" in Runs()._repr_html_()


def test_a_record_is_a_table(tmp_path: Path) -> None:
    with open_store(tmp_path / "records.db") as store:
        session = begin(store, attack("task"), sketch=attack("sketch"))
        store.append(session, [trial(1, 2e-3), failed(3)])
        valid, broken = store.records(attack("task"))
    page = read(valid._repr_html_())
    texts = [cell.text for cell in page.all("td")]
    assert "2,000.000 µs" in texts
    assert attack("sketch") in texts
    assert "tile = (1, 2)" in texts[texts.index("config") + 1]
    assert page.count("owned") == 0
    assert broken.measurement.message in broken._repr_html_()
    assert "µs" not in broken._repr_html_()
