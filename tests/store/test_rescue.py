"""Records that no store would take: written to a file, read back the same."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.errors import StoreError
from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config
from tunesmith.store import Record, Session, open_store, rescue, this_machine
from tunesmith.store.rescue import read_rescued

_instants = st.datetimes(timezones=st.just(UTC))
_json = st.dictionaries(st.text(), st.integers() | st.text() | st.none() | st.lists(st.booleans()))
_plain = st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False)
_configs = st.dictionaries(
    st.text(), _plain | st.booleans() | st.lists(_plain).map(tuple), max_size=5
).map(Config)
_seconds = st.floats(min_value=0, allow_infinity=True)
_measurements = st.builds(
    Measurement,
    config=_configs,
    outcome=st.sampled_from(Outcome),
    run_seconds=st.lists(_seconds, max_size=3).map(tuple),
    build_time=_seconds,
    run_time=_seconds,
    message=st.text(),
    program_hash=st.text(),
    cut_off=st.booleans(),
)
_sessions = st.builds(
    Session,
    uid=st.uuids().map(str),
    task_key=st.text(),
    description=_json,
    sketch=st.text(),
    sketch_version=st.integers(0, 9),
    target=_json,
    machine=st.just(this_machine()),
    versions=st.dictionaries(st.text(), st.text()),
    tuner=st.text(),
    tuner_settings=_json,
    seed=st.integers(),
    budget=_json,
    started=_instants,
    finished=st.none() | _instants,
    stopped=st.text(),
    time_split=st.dictionaries(st.text(), _seconds),
)
_records = st.lists(st.builds(Record, _sessions, _measurements, _instants, st.booleans()))


def by_its_sketch(record: Record) -> Record:
    """What a store and a file give back: they keep the sketch once, in the session."""
    return replace(record, measurement=replace(record.measurement, sketch=record.sketch))


@given(_records)
def test_any_record_survives_a_file(records: list[Record]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = rescue(records, Path(folder))
        assert path.parent == Path(folder)
        assert list(read_rescued(path)) == list(map(by_its_sketch, records))
        assert list(Path(folder).iterdir()) == [path]


@given(_sessions, st.lists(_measurements, max_size=5), _instants, st.booleans())
def test_any_record_survives_a_store(
    session: Session, measurements: list[Measurement], created: datetime, play_off: bool
) -> None:
    records = [
        Record(session, it, created + timedelta(microseconds=number), play_off)
        for number, it in enumerate(measurements)
        if "\0" not in it.message + it.program_hash
    ]
    with open_store("sqlite://") as store:
        assert store.merge(records) == len(records)
        assert list(store.records(session.task_key, play_off=play_off)) == list(
            map(by_its_sketch, records)
        )


def _record() -> Record:
    session = Session(
        *("u", "task", {}, "", 0, {}, this_machine(), {}, "random", {}, 1, {}),
        started=datetime.now(UTC),
    )
    return session.record(Measurement(Config({"a": 1}), Outcome.NO_ERROR, (1.0,)))


def test_folder_that_takes_nothing_leaves_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for folder in (tmp_path / "missing", None):
        path = rescue([_record()], folder)
        assert path.parent == tmp_path
        assert path.name.startswith("tunesmith-rescue-")


def test_no_folder_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(StoreError, match="cannot be written to any folder") as raised:
        rescue([_record()], tmp_path / "missing")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "damage",
    ["{", "[]", "{}", '{"session": 1}', "ü"],
)
def test_file_that_holds_something_else(tmp_path: Path, damage: str) -> None:
    path = rescue([_record()], tmp_path)
    path.write_text(path.read_text() + damage + "\n")
    with open_store(tmp_path / "records.db") as store:
        with pytest.raises(StoreError) as raised:
            store.import_rescued(path)
        assert str(path) in str(raised.value)
        assert "\n" not in str(raised.value)
        assert store.tasks() == []  # all of a file, or nothing


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with (
        open_store(tmp_path / "records.db") as store,
        pytest.raises(StoreError, match="cannot be read as rescued records"),
    ):
        store.import_rescued(tmp_path / "none.jsonl")
