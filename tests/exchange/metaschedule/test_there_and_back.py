"""Schedules that were exported come back as the records that they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.exchange.metaschedule.changes import Line, changed, seconds, warned
from tests.exchange.metaschedule.tasks import CPU, SECONDS, some_config, stored
from tunesmith.errors import StoreError
from tunesmith.exchange import read_records
from tunesmith.exchange.metaschedule import BestSchedule, write_database
from tunesmith.exchange.metaschedule.names import RECORDS, WORKLOADS
from tunesmith.operators import conv2d, matmul, pool2d
from tunesmith.sketches import sketch_for
from tunesmith.store import Record, open_store


@pytest.fixture
def ours(tmp_path: Path) -> tuple[Path, list[Record]]:
    """A database that was exported, and its records."""
    operators = [
        matmul(m=32, n=48, k=16, bias=True),
        conv2d(ci=8, h=10, w=10, co=16, kernel=3, padding=1, constant_weights=True),
        pool2d(c=4, h=8, w=8, kernel=2),
    ]
    with open_store(tmp_path / "one.db") as store:
        records = [
            stored(store, operator, sketch_for(operator, CPU, "cpu_tiled").default(operator, CPU))
            for operator in operators[1:]
        ]
        packed = some_config(operators[0], pack_weight=True)
        records.insert(0, stored(store, operators[0], packed))
    written = write_database(tmp_path / "ours", map(BestSchedule, records))
    assert (written.tasks, written.functions) == (3, 3 + 2 + 1)
    return tmp_path / "ours", records


def test_there_and_back(ours: tuple[Path, list[Record]]) -> None:
    folder, records = ours
    assert list(read_records(folder)) == records
    assert records[0].measurement.run_seconds == SECONDS


def test_a_note_that_does_not_fit(
    ours: tuple[Path, list[Record]], caplog: pytest.LogCaptureFixture
) -> None:
    """Another time, and a trace with another program."""
    folder, records = ours

    def change(line: Line) -> Line:
        trace = line[1][0][0]
        place = next(i for i, it in enumerate(trace) if it[0] == "Parallel")
        del trace[place]
        return line

    lines = (folder / RECORDS).read_text().splitlines()
    functions = [json.loads(line)[0] for line in lines]
    for number, function in enumerate(functions):
        if function in functions[:3]:
            changed(folder / RECORDS, change if number else seconds([1e-9]), number)
    found, text = warned(folder, caplog)
    assert found == records[1:]
    assert "3 trials are left out: a note of Tunesmith in the trace does not fit" in text


def test_a_folder_with_a_database_is_not_overwritten(ours: tuple[Path, list[Record]]) -> None:
    from tunesmith.errors import UsageError

    folder, records = ours
    before = (folder / RECORDS).read_bytes()
    with pytest.raises(UsageError, match="has a database of MetaSchedule: name another folder"):
        write_database(folder, map(BestSchedule, records))
    assert (folder / RECORDS).read_bytes() == before


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot write .*database: not a directory"):
        write_database(tmp_path / "file" / "database", [])


@pytest.mark.parametrize("name", [WORKLOADS, RECORDS])
def test_what_tvm_did_not_write_is_noticed(
    name: str, ours: tuple[Path, list[Record]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TVM goes on when a disk is full."""
    from tunesmith.exchange.metaschedule import writing

    commit = writing._commit

    def cut_off(database: Any, best: BestSchedule) -> int:
        count = commit(database, best)
        path = Path(database.path_workload).with_name(name)
        path.write_bytes(path.read_bytes()[:-50])
        return count

    monkeypatch.setattr(writing, "_commit", cut_off)
    with pytest.raises(StoreError, match="it was not written whole: is the disk full"):
        write_database(tmp_path / "other", map(BestSchedule, ours[1][:1]))
    assert list((tmp_path / "other").iterdir()) == []
