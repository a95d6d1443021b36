"""A process that stores records as a tuning run does: it claims configs, then saves their trials.

``python -m tunesmith.bench.store.writer LOCATION TASK NUMBER RECORDS`` writes a line once the store
is open, and begins when a line comes in.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator

import numpy as np

from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config
from tunesmith.store import open_store

# Records of one transaction.
BATCH = 100

# How long a writer waits for a lock, or for a server that restarts.
PATIENCE = 300.0

_CLAIM_SECONDS = 30.0
_INVALID_SHARE = 0.2


def write(location: str, task: str, number: int, records: int, wait: Callable[[], None]) -> None:
    """Store so many records of configs that no other ``number`` has. Raises ``StoreError``.

    ``wait`` is called between opening the store and the first record.
    """
    with open_store(location, patience=PATIENCE) as store:
        wait()
        session = store.begin_session(task, tuner="random", seed=number, sketch="tiles")
        for batch in _batches(number, records):
            waits = store.claim([(session, trial.config) for trial in batch], _CLAIM_SECONDS)
            assert not any(waits), "nobody else has these configs"
            store.append(session, batch)
        store.finish_session(session, stopped="trials")


def _batches(number: int, records: int) -> Iterator[list[Measurement]]:
    generator = np.random.default_rng(number)
    for start in range(0, records, BATCH):
        count = min(BATCH, records - start)
        tiles = (2 ** generator.integers(0, 9, (count, 4))).tolist()
        seconds = generator.lognormal(-6, 1, (count, 3)).tolist()
        invalid = generator.random(count) < _INVALID_SHARE
        yield [
            Measurement(
                Config({"m": tiles[row], "writer": number, "trial": start + row}),
                Outcome.RUN_TIMEOUT if invalid[row] else Outcome.NO_ERROR,
                () if invalid[row] else tuple(seconds[row]),
                build_time=0.5,
                run_time=0.1,
                message=Outcome.RUN_TIMEOUT.meaning if invalid[row] else "",
                program_hash=generator.bytes(16).hex(),
            )
            for row in range(count)
        ]


def _wait() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    os.nice(10)  # runs are on other machines, and do not take the time of those that ask
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), _wait)
