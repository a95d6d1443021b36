"""Stores to look at: one as users have it, and one in which every text is an attack."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.reports.samples import attack
from tunesmith.measurement import Measurement, Outcome
from tunesmith.operators import matmul
from tunesmith.space import Config
from tunesmith.store import Session, Store, open_store

OPERATOR = matmul(m=64, n=64, k=64)
TASK = f"{OPERATOR.key}@cpu"
MACHINE = {"fingerprint": "m1", "cpu": "Processor X", "cores": 8}
TURNED = "\u202egnp.exe\u202c \u2067abc\u2069"
"""Marks that turn the direction of what is read."""


def measured(
    seconds: float | None,
    values: Mapping[str, Any] | None = None,
    *,
    sketch: str = "",
    message: str = "",
    **named: Any,
) -> Measurement:
    """A trial of the config with these values, failed if it has no time."""
    outcome = Outcome.NO_ERROR if seconds is not None else Outcome.RUNTIME_DEVICE
    times = () if seconds is None else (seconds,)
    return Measurement(
        Config({**(values or {}), **named}),
        outcome,
        times,
        0.2,
        0.1,
        message=message,
        sketch=sketch,
    )


def begin(store: Store, task: str = TASK, *, tuner: str = "random", seed: int = 0) -> Session:
    """A run of a task on a machine that is not this one."""
    return store.begin_session(
        task,
        tuner=tuner,
        seed=seed,
        description={
            "operator": OPERATOR.to_json(),
            "sketches": [{"name": "tiles", "version": 1}, {"name": "rows", "version": 2}],
            "default": {"tile": 1, "order": "ij", "unroll": False},
        },
        sketch="tiles",
        sketch_version=1,
        target={"kind": "llvm", "mcpu": "znver4", "num-cores": 8},
        budget={"trials": 60, "seconds": None},
        machine=MACHINE,
        versions={"numpy": "2.0"},
    )


def write_store(path: Path, *, trials: int = 60, runs: int = 2) -> list[Session]:
    """A store with finished runs of one task over two sketches, of which ``tile`` matters most."""
    chance = random.Random(1)
    sessions = []
    with open_store(path) as store:
        for seed in range(runs):
            session = begin(store, seed=seed)
            sessions.append(session)
            for number in range(trials):
                tile, order = 2 ** chance.randrange(5), chance.choice(["ij", "ji"])
                seconds = 1e-3 / tile * chance.uniform(0.9, 1.1)
                failed = number % 10 == 9
                sketch = ("tiles", 1) if number % 3 else ("rows", 2)
                trial = measured(
                    None if failed else seconds,
                    message="it broke" if failed else "",
                    tile=tile,
                    order=order,
                    unroll=bool(number % 2),
                )
                store.append(session.by(*sketch), [trial])
            split = {"search": 1.0, "build": 5.0, "run": 3.0, "record": 0.5, "idle": 0.5}
            store.finish_session(session, stopped="trials", time_split=split)
    return sessions


def write_hostile_store(path: Path) -> None:
    """A store in which every text of a record carries an attack."""
    with open_store(path) as store:
        for number in range(2):
            session = store.begin_session(
                attack(f"task {number}") + TURNED + "x" * 5000,
                tuner=attack("tuner"),
                seed=number,
                description={"operator": {"operator": attack("operator"), "options": {}}},
                sketch=attack("sketch"),
                target={attack("target"): "javascript:alert(1)"},
                budget={attack("budget"): attack("limit")},
                machine={
                    "fingerprint": "javascript:alert(2)",
                    "cpu": attack("processor") + TURNED,
                    attack("part"): attack("figure"),
                },
                versions={attack("software"): "\0javascript:alert(3)"},
            )
            for trial in range(40):
                values = {
                    attack("parameter"): attack(f"value {trial % 4}"),
                    "javascript:alert(4)": trial % 3,
                    "long": "y" * 3000 + str(trial % 2),
                    "turned": f"{TURNED} {trial % 5}",
                }
                seconds = None if trial % 8 == 7 else 1e-3 * (1 + trial % 4)
                message = attack("message") + "\0" + TURNED + "z" * 4000
                store.append(session, [measured(seconds, values, message=message)])
            store.finish_session(session, stopped=attack("stop"), time_split={"run": 1.0})
