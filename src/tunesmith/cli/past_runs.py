"""What a store tells of runs, for the commands that look at them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tunesmith.errors import UsageError
from tunesmith.progress import PHASES

if TYPE_CHECKING:
    from tunesmith.measurement import Measurement
    from tunesmith.store import Session, Store


def time_of(sessions: Iterable[Session]) -> dict[str, float]:
    """The seconds of each phase, of all these runs together."""
    splits = [session.time_split for session in sessions]
    return {phase: sum(split.get(phase, 0.0) for split in splits) for phase in PHASES}


def sessions_by(store: Store, key: str, sketch: str, version: int) -> list[Session]:
    """The runs of a task by a version of a sketch on this machine, oldest first."""
    found = store.sessions(key)
    return [run for run in found if (run.sketch, run.sketch_version) == (sketch, version)]


def default_of(store: Store, session: Session) -> Measurement | None:
    """What is known of the config that a run compared with."""
    if session.default is None:
        return None
    return store.measurement_of(
        session.task_key,
        session.default,
        sketch=session.sketch,
        sketch_version=session.sketch_version,
    )


def flops_of(session: Session) -> float | None:
    """The operations of one call of what a run tuned, None where it is no operator known here."""
    from tunesmith.operators import operator_from_json

    try:
        return float(operator_from_json(session.description.get("operator") or {}).flops)
    except UsageError:  # a command, a function, or an operator of a package that is not here
        return None
