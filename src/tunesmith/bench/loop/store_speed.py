"""How fast the store is when it is large: finding the best of a task, and taking in records."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import numpy as np

from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config
from tunesmith.store import Session, Store, open_store

_TASKS = 20
_BATCH = 1000
_LOOKUPS = 200
_SINGLE_COMMITS = 200
_INVALID_SHARE = 0.2


def measure_store(folder: Path, records: int = 1_000_000) -> dict[str, float]:
    """Fill a new SQLite store in ``folder`` and time it; the store is removed afterwards.

    Half of the records belong to one task, the others to 19 more; every other task has had a
    play-off. Returns

    - ``records``: how many there were,
    - ``records_per_second``: appended in batches of 1000, one transaction a batch,
    - ``commits_per_second``: appended to the full store one by one, one transaction a record,
    - ``best_milliseconds``, ``best_milliseconds_worst``: median and maximum of 200 look-ups of a
      task's best record, the tasks in turn,
    - ``megabytes``: the size of the database's file.

    Raises `StoreError` if the disk does not hold it: 1,000,000 records take about 0.3 GB.
    """
    path = folder / "store-speed.db"
    generator = np.random.default_rng(0)
    try:
        with open_store(path) as store:
            sessions = [_begin(store, number) for number in range(_TASKS)]
            filling = _fill(store, sessions, generator, records)
            lookups = [_look_up(store, sessions[it % _TASKS]) for it in range(_LOOKUPS)]
            singles = _trials(generator, _SINGLE_COMMITS)
            committing = sum(_append(store, sessions[0], [trial]) for trial in singles)
        return {
            "records": records,
            "records_per_second": records / filling,
            "commits_per_second": _SINGLE_COMMITS / committing,
            "best_milliseconds": 1e3 * statistics.median(lookups),
            "best_milliseconds_worst": 1e3 * max(lookups),
            "megabytes": path.stat().st_size / 1e6,
        }
    finally:
        for file in folder.glob(f"{path.name}*"):  # SQLite keeps a log and an index next to it
            file.unlink()


def _begin(store: Store, number: int) -> Session:
    description = {"operator": {"name": "matmul", "shape": [number + 1, 64, 64]}}
    return store.begin_session(
        f"matmul-{number}", tuner="random", seed=number, description=description, sketch="tiles"
    )


def _fill(
    store: Store, sessions: list[Session], generator: np.random.Generator, records: int
) -> float:
    """Append the records, and the play-offs; the seconds of the records' appends."""
    seconds = 0.0
    for number, start in enumerate(range(0, records, _BATCH)):
        # Every other batch goes to the first task, so that one of them is really large.
        session = sessions[0 if number % 2 == 0 else 1 + number // 2 % (_TASKS - 1)]
        batch = _trials(generator, min(_BATCH, records - start))
        seconds += _append(store, session, batch)
    for session in sessions[::2]:
        best = store.best(session.task_key)
        if best is not None:
            store.confirm(session, [best.measurement])
    return seconds


def _append(store: Store, session: Session, batch: list[Measurement]) -> float:
    start = time.perf_counter()
    store.append(session, batch)
    return time.perf_counter() - start


def _look_up(store: Store, session: Session) -> float:
    start = time.perf_counter()
    store.best(session.task_key)
    return time.perf_counter() - start


def _trials(generator: np.random.Generator, count: int) -> list[Measurement]:
    """Trials as a tuning run gives them: tilings of a matrix product, a fifth of them invalid."""
    tiles = 2 ** generator.integers(0, 9, (count, 3, 4))
    seconds = generator.lognormal(-6, 1, (count, 3))
    invalid = generator.random(count) < _INVALID_SHARE
    hashes = generator.bytes(16 * count).hex()
    trials = []
    rows = zip(tiles.tolist(), seconds.tolist(), invalid, strict=True)
    for row, (tile, times, bad) in enumerate(rows):
        config = Config({"m": tile[0], "n": tile[1], "k": tile[2][:2], "unroll": row % 2})
        trials.append(
            Measurement(
                config,
                Outcome.RUN_TIMEOUT if bad else Outcome.NO_ERROR,
                () if bad else tuple(times),
                build_time=0.5,
                run_time=0.1,
                message=Outcome.RUN_TIMEOUT.meaning if bad else "",
                program_hash=hashes[32 * row : 32 * row + 32],
            )
        )
    return trials
