"""Makes a store of many records in seconds, as years of tuning would."""

from __future__ import annotations

import json
import random
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tunesmith.store import open_store
from tunesmith.store.rows import config_hash

TASKS = 20
RUNS = 10
"""Of each task."""

_MACHINE = {"fingerprint": "m1", "cpu": "Processor X", "cores": 8}
_MILLISECONDS = 40
_COLUMNS = (
    "session_id, series_id, play_off, config, config_hash, outcome, seconds, run_seconds, "
    "build_time, run_time, message, program_hash, cut_off, device_state, created"
)


def write_large_store(path: Path, records: int, *, share_of_first: float = 0.5) -> None:
    """A store of so many trials, of which the first of all runs has ``share_of_first``."""
    with open_store(path) as store:
        runs = [
            store.begin_session(
                f"task {task}", tuner=("random", "auto")[run % 2], seed=run, machine=_MACHINE
            )
            for task in range(TASKS)
            for run in range(RUNS)
        ]
        for session in runs:
            store.finish_session(session, stopped="trials", time_split={"run": 5.0, "build": 9.0})
    with closing(sqlite3.connect(path)) as connection:
        series = dict(connection.execute("SELECT id, series_id FROM sessions").fetchall())
        started = connection.execute("SELECT min(started) FROM sessions").fetchone()[0]
        rows = _rows(records, series, started, share_of_first)
        marks = ", ".join("?" * len(_COLUMNS.split(", ")))
        connection.executemany(f"INSERT INTO records ({_COLUMNS}) VALUES ({marks})", rows)
        connection.commit()


def _rows(
    records: int, series: dict[int, int], started: int, share: float
) -> Iterator[tuple[Any, ...]]:
    chance = random.Random(0)
    first, *others = sorted(series)
    of_first = round(share * records)
    for number in range(records):
        session = first
        if number >= of_first:
            session = others[(number - of_first) * len(others) // (records - of_first)]
        values = {f"tile_{axis}": 2 ** chance.randrange(8) for axis in "xyz"}
        values |= {"unroll": chance.randrange(4), "order": chance.choice(["ijk", "ikj"])}
        key = json.dumps(values, sort_keys=True, separators=(",", ":"))
        failed = chance.random() < 0.1
        seconds = None if failed else 1e-3 * (1 + values["unroll"]) * (0.5 + chance.random())
        yield (
            *(session, series[session], False, key, config_hash(key)),
            *(8 if failed else 0, seconds, json.dumps([] if failed else [seconds] * 3)),
            *(0.2, 0.1, "it broke" if failed else "", f"{number:032x}", False, None),
            started + number * _MILLISECONDS * 1000,
        )


if __name__ == "__main__":
    write_large_store(Path(sys.argv[1]), int(sys.argv[2]))
