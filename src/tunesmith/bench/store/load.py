"""``tunesmith bench store``: many processes write into one store, and it is asked for the best."""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from tunesmith.bench.store.server import Server, own_server
from tunesmith.bench.store.writer import BATCH, PATIENCE
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measure.failure import last_line
from tunesmith.store import Store, open_store
from tunesmith.store.database import Database
from tunesmith.store.place import locate
from tunesmith.store.schema import records as record_rows

_TASKS = 4
_LOOK_UP_EVERY = 0.2
_ALONE = 200  # look-ups once the writers have ended
_TELL_EVERY = 15.0


@dataclass(frozen=True)
class LoadSettings:
    """How many records are written in all, and by how many processes.

    Raises ``UsageError`` unless both are positive, and there is a record for each.
    """

    records: int = 1_000_000
    writers: int = 16

    def __post_init__(self) -> None:
        if self.writers < 1:
            raise UsageError(f"writers must be positive, not {self.writers}")
        if self.records < self.writers:
            raise UsageError(
                f"{self.records} records are too few for {self.writers} writers: at least 1 each"
            )

    def share(self, writer: int) -> int:
        """The records of a writer: the first ones have one more where it does not come out even."""
        return self.records // self.writers + (writer < self.records % self.writers)


@dataclass
class _Watch:
    """What was seen while the writers wrote; times in seconds."""

    look_ups: list[float] = field(default_factory=list)
    restart: float | None = None
    stalled: float | None = None  # from the server's end to the answer of a look-up


def measure_load(settings: LoadSettings, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """A row of figures for PostgreSQL, then one for SQLite; ``say`` is told what goes on.

    ``lost`` counts the records that are not there at the end, ``twice`` those that are there again,
    ``deadlocks`` those that the server reported (None for SQLite, which has one lock). ``best_*``
    are milliseconds of looking for the best of a task meanwhile, ``best_milliseconds_alone``
    afterwards. One that waits for the server's restart is apart: ``stalled_seconds`` from the
    server's end to its answer.

    Raises ``MissingDependencyError`` without a PostgreSQL server, ``TunesmithError`` if a writer
    fails.
    """
    with own_server("-c fsync=on", "-c max_connections=200") as server:
        say(f"PostgreSQL {server.version}: {settings.writers} writers ...")
        row = _measure(server.location, settings, say, server)
        row = {"store": f"PostgreSQL {server.version}", **row}
        row = {**row, "deadlocks": server.said("deadlock detected")}
    yield row
    import sqlite3

    with tempfile.TemporaryDirectory(prefix="tunesmith-bench-") as folder:
        say(f"SQLite {sqlite3.sqlite_version}: {settings.writers} writers ...")
        row = _measure(str(Path(folder) / "load.db"), settings, say, None)
    yield {"store": f"SQLite {sqlite3.sqlite_version}", **row, "deadlocks": None}


def _measure(
    location: str, settings: LoadSettings, say: Callable[[str], None], server: Server | None
) -> dict[str, Any]:
    with open_store(location, patience=PATIENCE) as store, _writers(location, settings) as writers:
        started = time.monotonic()
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("\n")
            writer.stdin.flush()
        watch = _watch(store, settings, writers, say, server)
        seconds = time.monotonic() - started
        for writer in writers:
            _await_end(writer)
        alone = [_look_up(store, number) for number in range(_ALONE)]
    with closing(Database(locate(location), PATIENCE)) as database:
        stored, different = database.read(_count)
    milliseconds = sorted(1e3 * took for took in watch.look_ups) or [0.0]
    return {
        "records": settings.records,
        "writers": settings.writers,
        "batch": BATCH,
        "lost": settings.records - different,
        "twice": stored - different,
        "seconds": seconds,
        "records_per_second": settings.records / seconds,
        "restart_seconds": watch.restart,
        "stalled_seconds": watch.stalled,
        "look_ups": len(watch.look_ups),
        "best_milliseconds": statistics.median(milliseconds),
        "best_milliseconds_99": float(np.quantile(milliseconds, 0.99)),
        "best_milliseconds_worst": milliseconds[-1],
        "best_milliseconds_alone": 1e3 * statistics.median(alone),
    }


def _count(connection: Connection) -> tuple[int, int]:
    """How many records there are, and of how many configs: each was written once."""
    counts = select(func.count(), func.count(record_rows.c.config_hash.distinct()))
    stored, different = connection.execute(counts).one()
    return stored, different


@contextmanager
def _writers(location: str, settings: LoadSettings) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that are ready to write, and are gone after the block.

    Each has opened the store: one that opens it while the server restarts would be refused.
    """
    started: list[subprocess.Popen[str]] = []
    try:
        for number in range(settings.writers):
            words = [location, f"task-{number % _TASKS}", str(number), str(settings.share(number))]
            command = [sys.executable, "-m", "tunesmith.bench.store.writer", *words]
            pipe = subprocess.PIPE
            started.append(
                subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
            )
        for writer in started:
            assert writer.stdout is not None
            if not writer.stdout.readline():
                _await_end(writer)
        yield started
    finally:
        for writer in started:
            writer.kill()
            writer.communicate()


def _await_end(writer: subprocess.Popen[str]) -> None:
    """Raise ``TunesmithError`` with the complaint of a writer that failed."""
    complaint = writer.communicate()[1]
    if writer.returncode:
        raise TunesmithError(f"a writer failed: {last_line(complaint.encode())}")


def _watch(
    store: Store,
    settings: LoadSettings,
    writers: Sequence[subprocess.Popen[str]],
    say: Callable[[str], None],
    server: Server | None,
) -> _Watch:
    """Look for the best of the tasks in turn until all has been written; restart the server."""
    watch = _Watch()
    told = time.monotonic()
    for number in itertools.count():
        if all(writer.poll() is not None for writer in writers):
            break
        watch.look_ups.append(_look_up(store, number))
        written = store.written()
        if time.monotonic() - told > _TELL_EVERY:
            told = time.monotonic()
            say(f"{written:,} of {settings.records:,} records")
        if server is not None and watch.restart is None and written >= settings.records // 2:
            say("restarting the server ...")
            began = time.perf_counter()
            server.restart()
            watch.restart = time.perf_counter() - began
            _look_up(store, number)
            watch.stalled = time.perf_counter() - began
        time.sleep(_LOOK_UP_EVERY)
    return watch


def _look_up(store: Store, number: int) -> float:
    """Seconds to find the best of one of the tasks."""
    began = time.perf_counter()
    store.best(f"task-{number % _TASKS}", sketch="tiles")
    return time.perf_counter() - began
