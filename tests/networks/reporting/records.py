"""Stores with runs that never took place."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from tunesmith.measure.task.portfolio import problems_of
from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config
from tunesmith.store import Record, Session, Store, this_machine
from tunesmith.task import Task

BEGIN = datetime(2025, 11, 20, 12, tzinfo=UTC)


def configs_of(task: Task, count: int = 3) -> list[Config]:
    """The default of the task's first sketch, and others of it."""
    problem = problems_of(task)[0]
    drawn = problem.space.sample_many(count, np.random.default_rng(0))
    return [problem.default, *(config for config in drawn if config != problem.default)]


def add_run(
    store: Store,
    task: Task,
    trials: Sequence[float],
    *,
    play_off: Sequence[tuple[int, float]] = (),
    starts: float = 0.0,
    seconds: float = 10.0,
    version: int | None = None,
) -> None:
    """A run that ``starts`` so many seconds after the first one, and lasts ``seconds``.

    Its trials, of the configs in order, end a second apart with these times of a call; infinite
    ones failed. Of the play-off at its end the config's number and the time are given.
    """
    problem, configs = problems_of(task)[0], configs_of(task, len(trials))
    started = BEGIN + timedelta(seconds=starts)
    session = Session(
        uid=uuid.uuid4().hex,
        task_key=task.key,
        description={},
        sketch=problem.sketch.name,
        sketch_version=problem.sketch.version if version is None else version,
        target={"kind": "llvm"},
        machine=this_machine(),
        versions={"tunesmith": "0.1.0"},
        tuner="random",
        tuner_settings={},
        seed=0,
        budget={},
        started=started,
        finished=started + timedelta(seconds=seconds),
        stopped="seconds",
        time_split={"run": seconds},
    )
    records = [
        Record(session, _measured(configs[number], time), started + timedelta(seconds=number + 1))
        for number, time in enumerate(trials)
    ]
    end = started + timedelta(seconds=seconds)
    records += [Record(session, _measured(configs[n], time), end, True) for n, time in play_off]
    store.add(records)


def _measured(config: Config, seconds: float) -> Measurement:
    if math.isinf(seconds):
        return Measurement(config, Outcome.RUNTIME_DEVICE, message="it crashed")
    return Measurement(config, Outcome.NO_ERROR, (seconds,))
