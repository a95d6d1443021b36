"""Records in files: what is written is read back the same, whatever it is."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.store.test_rescue import _records, by_its_sketch
from tunesmith.errors import StoreError, UsageError
from tunesmith.exchange import FORMATS, read_records, write_records
from tunesmith.measurement import DeviceState, Measurement, Outcome
from tunesmith.space import Config
from tunesmith.store import ANY_MACHINE, Record, Store, open_store, rescue

ENDINGS = list(FORMATS)


def written(store: Store, count: int = 3) -> list[Record]:
    """A run of two sketches in a store, with a failure and a play-off."""
    session = store.begin_session("task@cpu", tuner="auto", seed=7, sketch="one", sketch_version=1)
    other = session.by("two", 2)
    config = Config({"tile": (2, 4), "order": "xy"})
    state = DeviceState(1500, None, 40)
    store.add(
        [
            session.record(Measurement(config, Outcome.NO_ERROR, (2.0, 3.0), device_state=state)),
            other.record(Measurement(config, Outcome.RUN_TIMEOUT, (), 1.0, 10.0, "too slow")),
            session.record(Measurement(config, Outcome.NO_ERROR, (2.5,)), play_off=True),
        ][:count]
    )
    return list(store.records("task@cpu", play_off=None))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_store_can_be_moved(ending: str, tmp_path: Path) -> None:
    path = tmp_path / "new" / f"records{ending}"
    with open_store(tmp_path / "one.db") as store:
        records = written(store)
        assert write_records(path, records) == 3
    assert list(read_records(path)) == records
    with open_store(tmp_path / "other.db") as other:
        assert other.merge(read_records(path)) == 3
        assert other.merge(read_records(path)) == 0, "they are known"
        assert list(other.records("task@cpu", machine=ANY_MACHINE, play_off=None)) == records
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=30)
@given(records=_records)
def test_any_record_survives(ending: str, records: list[Record]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"some{ending}"
        encodable = [it for it in records if _is_text(it)] if ending == ".parquet" else records
        assert write_records(path, encodable) == len(encodable)
        found = [by_its_sketch(it) for it in encodable]
        checked = [replace(it, measurement=it.measurement.checked()) for it in found]
        assert list(read_records(path)) == checked


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("seconds", [-1.0, 0.0, math.nan, math.inf])
def test_times_that_make_no_sense_are_of_trials_that_failed(
    ending: str, seconds: float, tmp_path: Path
) -> None:
    path = tmp_path / f"records{ending}"
    with open_store(tmp_path / "one.db") as store:
        (record,) = written(store, 1)
    wrong = replace(record.measurement, run_seconds=(2.0, seconds))
    assert write_records(path, [replace(record, measurement=wrong)]) == 1
    (found,) = read_records(path)
    assert found.measurement.outcome is Outcome.UNKNOWN_ERROR
    assert found.measurement.run_seconds == ()
    assert "the measurer reports a call of" in found.measurement.message


def _is_text(record: Record) -> bool:
    """Whether all its texts can be written as UTF-8; a store lets no others in."""
    session, measured = record.session, record.measurement
    texts = session.task_key, session.sketch, session.tuner, measured.message, measured.program_hash
    return all(text.encode(errors="replace").decode() == text for text in texts)


def test_a_session_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    with open_store(tmp_path / "one.db") as store:
        write_records(path, written(store))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert ["session" in line for line in lines] == [True, False, True, False, False]
    assert [line["of"] for line in lines if "of" in line] == [0, 1, 0]


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz"])
def test_files_that_were_joined_are_read_one_after_the_other(ending: str, tmp_path: Path) -> None:
    """Each counts its sessions from 0: the second one's are not the first one's."""
    parts, records = [], list[Record]()
    for name in ("one", "two"):
        with open_store(tmp_path / f"{name}.db") as store:
            records += written(store)
            write_records(tmp_path / f"{name}{ending}", records[-3:])
        parts.append((tmp_path / f"{name}{ending}").read_bytes())
    joined = tmp_path / f"joined{ending}"
    joined.write_bytes(b"".join(parts))
    assert list(read_records(joined)) == records
    if ending == ".jsonl":
        rescued = rescue(records[:1], tmp_path)
        joined.write_bytes(parts[0] + rescued.read_bytes() + parts[1])
        assert list(read_records(joined)) == [*records[:3], records[0], *records[3:]]


def test_a_record_that_is_twice_in_a_file_is_added_once(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    with open_store(tmp_path / "one.db") as store:
        records = written(store)
    write_records(path, [*records, *records])
    with open_store(tmp_path / "other.db") as other:
        assert other.merge(read_records(path)) == 3
        assert len(list(other.records("task@cpu", machine=ANY_MACHINE, play_off=None))) == 3


def test_rescued_records_are_read_too(tmp_path: Path) -> None:
    with open_store(tmp_path / "one.db") as store:
        records = written(store)
    assert list(read_records(rescue(records, tmp_path))) == records


def test_a_table_has_what_one_asks_for(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    path = tmp_path / "records.parquet"
    with open_store(tmp_path / "one.db") as store:
        write_records(path, written(store))
    rows = parquet.read_table(path).to_pylist()
    assert [row["sketch"] for row in rows] == ["one", "two", "one"]
    assert [row["seconds"] for row in rows] == [2.5, None, 2.5]
    assert [row["outcome"] for row in rows] == ["NO_ERROR", "RUN_TIMEOUT", "NO_ERROR"]
    assert [row["play_off"] for row in rows] == [False, False, True]
    assert json.loads(rows[0]["config"]) == {"order": "xy", "tile": [2, 4]}
    assert rows[0]["created"].tzinfo is not None


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{}", b"[1]\n", b'{"measurement": {}}', b"\x1f\x8b\xff"),
        # A header of gzip, and then a block of a type that does not exist.
        b"\x1f\x8b\x08" + bytes(6) + b"\x03" + b"\xff" * 20,
    ],
)
def test_other_files_are_refused(ending: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"other{ending}"
    path.write_bytes(content)
    if not content and ending != ".parquet":
        assert list(read_records(path)) == []
        return
    with pytest.raises(StoreError, match=r"Tunesmith wrote|cannot read"):
        list(read_records(path))


def test_a_file_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl.gz"
    with open_store(tmp_path / "one.db") as store:
        write_records(path, written(store))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StoreError, match=r"is no record|cannot read"):
        list(read_records(path))


@pytest.mark.parametrize("name", ["records", "records.csv", "records.json"])
def test_an_unknown_format(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"name a file that ends in .jsonl, .jsonl.gz, .parquet"):
        write_records(tmp_path / name, [])
    (tmp_path / name).write_text("a,b\n")
    with pytest.raises(UsageError, match="is of no format"):
        list(read_records(tmp_path / name))


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot write .*: .*is not a folder"):
        write_records(tmp_path / "file" / "records.jsonl", [])
    with pytest.raises(StoreError, match="there is no file"):
        list(read_records(tmp_path / "none.jsonl"))
    path = tmp_path / "old.jsonl"
    path.write_text("old")

    def broken() -> Iterator[Record]:
        raise RuntimeError("the store went away")
        yield

    with pytest.raises(RuntimeError, match="the store went away"):
        write_records(path, broken())
    assert path.read_text() == "old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "old.jsonl"]
