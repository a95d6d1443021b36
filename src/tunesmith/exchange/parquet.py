"""Records as a Parquet file, a row each, for pandas, Polars, DuckDB and the like.

The columns say what one asks of records; ``session`` has the rest as JSON, so that a file can be
read back whole. Texts that repeat are stored once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC
from itertools import islice
from pathlib import Path
from typing import Any

from tunesmith.errors import MissingDependencyError, StoreError, TunesmithError
from tunesmith.measurement import Candidate, DeviceState, Measurement, Outcome
from tunesmith.store import Record, Session
from tunesmith.store.plain import plain_session, session_of

_ROWS_AT_A_TIME = 20_000


def write(path: Path, records: Iterable[Record]) -> int:
    """Write records to a file; returns how many.

    Raises ``OSError``, and ``MissingDependencyError`` without pyarrow.
    """
    arrow, parquet = _pyarrow()
    schema = _schema(arrow)
    texts: dict[tuple[str, str, int], str] = {}
    left, count = iter(records), 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while rows := [_row(record, texts) for record in islice(left, _ROWS_AT_A_TIME)]:
            writer.write_table(arrow.Table.from_pylist(rows, schema))
            count += len(rows)
    return count


def read(path: Path) -> Iterator[Record]:
    """The records of a file.

    Raises ``OSError``, ``StoreError`` for a file that has none, and ``MissingDependencyError``
    without pyarrow.
    """
    arrow, parquet = _pyarrow()
    sessions: dict[str, Session] = {}
    try:
        with parquet.ParquetFile(path) as file:
            names = [each.name for each in _schema(arrow)]
            for batch in file.iter_batches(_ROWS_AT_A_TIME, columns=names):
                for row in batch.to_pylist():
                    text = row["session"]
                    if text not in sessions:
                        sessions[text] = session_of(json.loads(text))
                    yield _record(row, sessions[text])
    except (arrow.ArrowException, ValueError, KeyError, TypeError, TunesmithError) as error:
        raise StoreError(f"{path} has no records: give a file that Tunesmith wrote") from error


def _schema(arrow: Any) -> Any:
    text, number, seldom = arrow.string(), arrow.float64(), arrow.dictionary
    repeated = seldom(arrow.int32(), text)
    return arrow.schema(
        [
            ("task", repeated),
            ("sketch", repeated),
            ("sketch_version", arrow.int32()),
            ("machine", repeated),
            ("device", repeated),
            ("tuner", repeated),
            ("play_off", arrow.bool_()),
            ("config", text),
            ("outcome", repeated),
            ("seconds", number),
            ("run_seconds", arrow.list_(number)),
            ("build_time", number),
            ("run_time", number),
            ("cut_off", arrow.bool_()),
            ("message", repeated),
            ("program_hash", text),
            ("device_state", text),
            ("created", arrow.timestamp("us", tz="UTC")),
            ("session", repeated),
        ]
    )


def _row(record: Record, texts: dict[tuple[str, str, int], str]) -> dict[str, Any]:
    session, measured = record.session, record.measurement
    key = session.uid, session.sketch, session.sketch_version
    if key not in texts:
        texts[key] = json.dumps(plain_session(session))
    state = measured.device_state
    return {
        "task": session.task_key,
        "sketch": session.sketch,
        "sketch_version": session.sketch_version,
        "machine": session.machine.get("fingerprint"),
        "device": session.device,
        "tuner": session.tuner,
        "play_off": record.play_off,
        "config": record.config.key,
        "outcome": measured.outcome.name,
        "seconds": measured.seconds if measured.valid and measured.run_seconds else None,
        "run_seconds": list(measured.run_seconds),
        "build_time": measured.build_time,
        "run_time": measured.run_time,
        "cut_off": measured.cut_off,
        "message": measured.message,
        "program_hash": measured.program_hash,
        "device_state": None if state is None else json.dumps(state.to_json()),
        "created": record.created,
        "session": texts[key],
    }


def _record(row: Mapping[str, Any], session: Session) -> Record:
    from tunesmith.space import Config

    state = row["device_state"]
    candidate = Candidate(Config.from_json(json.loads(row["config"])), session.sketch)
    measurement = Measurement(
        candidate.config,
        Outcome[row["outcome"]],
        tuple(row["run_seconds"]),
        row["build_time"],
        row["run_time"],
        row["message"],
        row["program_hash"],
        row["cut_off"],
        None if state is None else DeviceState(**json.loads(state)),
        candidate.sketch,
    )
    return Record(session, measurement, row["created"].astimezone(UTC), row["play_off"])


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet needs pyarrow: pip install 'tunesmith[parquet]'"
        ) from error
    return arrow, parquet
