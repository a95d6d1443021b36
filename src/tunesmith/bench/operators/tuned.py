"""Tunes a workload, and says what that took: the part of a row that is about us alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tunesmith.bench.pages.curves import curve, start_share
from tunesmith.bench.peers.sides import kernel_side
from tunesmith.budget import Budget
from tunesmith.errors import TunesmithError
from tunesmith.operators import Operator
from tunesmith.progress import Progress
from tunesmith.store import Session, Store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.tuning.result import Result, check_finished
from tunesmith.tuning.tune import tune


@dataclass(frozen=True)
class Tuned:
    """The best kernel as a side of a comparison, and the fields of a row about its tuning."""

    side: dict[str, Any]
    fields: dict[str, Any]


def tune_workload(
    operator: Operator,
    target: Target,
    store: Store,
    seconds: float,
    *,
    seed: int,
    prior: bool,
    fresh: bool,
    watch: Callable[[Progress], None],
) -> Tuned:
    """Tune for so many seconds, on top of what the store has of earlier runs unless ``fresh``.

    Raises ``KeyboardInterrupt`` if Ctrl-C ended the tuning; ``TunesmithError`` if it found nothing
    or the store failed.
    """
    task = Task(operator, target)
    result = tune(
        task,
        budget=Budget(seconds=seconds),
        store=store,
        seed=seed,
        prior=prior,
        fresh=fresh,
        progress=watch,
    )
    check_finished(result)
    if result.best is None:
        raise TunesmithError(f"{seconds:g} s of tuning: {result.reason}")
    assert result.session is not None
    sessions = [result.session] if fresh else store.sessions(task.key)
    speeds = [speed for session in sessions for speed in _throughputs(store, session)]
    side = kernel_side(result.best)
    fields = {
        "sketch": side["sketch"],
        "config": side["config"],
        "target": side["target"],
        "sketches": {name: asdict(trials) for name, trials in result.sketches.items()},
        "tuning_seconds": _seconds(result, sessions, store),
        "trials": result.trials,
        "valid": result.valid,
        "repeated": result.repeated,
        "start_share": start_share(speeds),
        "curve": curve(speeds),
    }
    return Tuned(side, fields)


def _throughputs(store: Store, session: Session) -> list[float]:
    """The speed of each trial of a run, in calls a second, in the order of the trials."""
    records = store.records(session.task_key, session=session)
    return [record.measurement.throughput for record in records]


def _seconds(result: Result, sessions: Sequence[Session], store: Store) -> float:
    """The wall clock of these runs, whose trials all count."""
    assert result.session is not None
    earlier = (session for session in sessions if session.uid != result.session.uid)
    return sum(lasted(session, store) for session in earlier) + result.time["total"]


def lasted(session: Session, store: Store) -> float:
    """The seconds of an earlier run; to its last trial if it was killed and could not say."""
    ended = session.finished
    if ended is None:
        latest = store.records(session.task_key, session=session, newest_first=True, limit=1)
        ended = next((record.created for record in latest), session.started)
    return (ended - session.started).total_seconds()
