"""Records of schedules, for databases of MetaSchedule."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from tunesmith.measurement import Measurement, Outcome
from tunesmith.operators import Operator
from tunesmith.sketches import sketch_for
from tunesmith.space import Config
from tunesmith.store import Record, Store
from tunesmith.target import Target
from tunesmith.task import Task

CPU = Target()
SECONDS = (0.002, 0.001, 0.0015)


def stored(
    store: Store,
    operator: Operator,
    config: Config,
    *,
    sketch: str = "cpu_tiled",
    target: Target = CPU,
    seconds: Sequence[float] = SECONDS,
) -> Record:
    """A trial of an operator's task, as a run stores it."""
    task, version = Task(operator, target), sketch_for(operator, target, sketch).version
    session = store.begin_session(
        task.key,
        tuner="random",
        seed=1,
        sketch=sketch,
        sketch_version=version,
        target=target.to_json(),
        description={"operator": operator.to_json(), "target": target.to_json()},
    )
    measurement = Measurement(config, Outcome.NO_ERROR, tuple(seconds), sketch=sketch)
    record = Record(session, measurement, datetime.now(UTC))
    store.add([record])
    return record


def some_config(
    operator: Operator, target: Target = CPU, seed: int = 0, **wanted: object
) -> Config:
    """A random config of the generic sketch with these values."""
    sketch = sketch_for(operator, target, f"{target.kind}_tiled")
    drawn = sketch.space(operator, target).sample_many(400, np.random.default_rng(seed))
    return next(it for it in drawn if all(it[name] == value for name, value in wanted.items()))
