"""What a store tells of runs, for the commands that look at them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from tunesmith.cli.task_choice import TaskChoice
from tunesmith.errors import TunesmithError, UsageError, unknown_name
from tunesmith.measurement import Outcome
from tunesmith.progress import PHASES

if TYPE_CHECKING:
    from tunesmith.measurement import Measurement
    from tunesmith.store import Session, Store


@dataclass(frozen=True, kw_only=True)
class RecordedTask(TaskChoice):
    """A task, or the key of any that a store has records of."""

    task_key: Annotated[
        str | None, Option("--task", help="The key of any task, as 'tunesmith history' lists it.")
    ] = None

    @property
    def key(self) -> str | None:
        """The key of the task, None where none is named."""
        if self.task_key is None:
            return self.task().key if self.named else None
        if self.named:
            raise UsageError("name the task by --task or by its operator, not by both")
        return self.task_key

    def check_known(self, store: Store) -> None:
        """Raise ``UsageError`` if no task of the store has the key that --task gave."""
        known = [row.key for row in store.tasks()]
        if self.task_key is not None and self.task_key not in known:
            raise unknown_name("task", self.task_key, known, listed_by="tunesmith history")


def time_of(sessions: Iterable[Session]) -> dict[str, float]:
    """The seconds of each phase, of all these runs together."""
    splits = [session.time_split for session in sessions]
    return {phase: sum(split.get(phase, 0.0) for split in splits) for phase in PHASES}


Sketches = Sequence[tuple[str, int]]
"""Name and version of each."""


def current_sketches(store: Store, key: str, only: str | None) -> Sketches:
    """What a task was tuned with on this machine and could still be: no version out of date.

    ``only`` is the name of a sketch to narrow it down to, with the target's name before it or not.
    """
    from tunesmith.sketches import describe_sketches

    current = {("", 0), *((row.name, row.version) for row in describe_sketches())}
    return [
        (name, version)
        for name, version in store.sketches(key)
        if (name, version) in current and (only is None or _is_called(name, only))
    ]


def _is_called(sketch: str, name: str) -> bool:
    """Whether that is a sketch's name, with the target's before it or not."""
    return name in (sketch, sketch.partition("_")[2])


def check_sketch(name: str) -> None:
    """Raises ``UsageError`` if there is no sketch of a name, with the target's before it or not."""
    from tunesmith.sketches import describe_sketches

    known = [row.name for row in describe_sketches()]
    if not any(_is_called(each, name) for each in known):
        raise unknown_name("sketch", name, known, listed_by="tunesmith sketches")


def shares_by(store: Store, key: str, sketches: Sketches) -> dict[str, dict[str, Any]]:
    """The trials of each of these sketches, and the seconds of its best one."""
    shares = {}
    for name, version in sketches:
        best = store.best(key, sketch=name, sketch_version=version)
        outcomes = store.outcomes(key, sketch=name, sketch_version=version)
        seconds = None if best is None else best.measurement.seconds
        shares[name] = {"trials": sum(outcomes.values()), "best_seconds": seconds}
    return {name: share for name, share in shares.items() if name}


def outcomes_by(store: Store, key: str, sketches: Sketches) -> dict[Outcome, int]:
    """How many trials by these sketches ended in each class that occurred."""
    total: Counter[Outcome] = Counter()
    for name, version in sketches:
        total.update(store.outcomes(key, sketch=name, sketch_version=version))
    return {outcome: total[outcome] for outcome in Outcome if total[outcome]}


def sessions_by(
    store: Store, key: str, sketches: Sketches, *, machine: str | None = None
) -> list[Session]:
    """The runs of a task that tried any of these sketches on a machine, oldest first.

    ``machine`` as in ``Store``.
    """
    wanted, runs = set(sketches), store.sessions(key, machine=machine)
    return [run for run in runs if wanted.intersection(run.sketches)]


def default_of(store: Store, session: Session) -> Measurement | None:
    """What is known of the config that a run compared with."""
    if session.default is None:
        return None
    name, version = session.sketches[0]
    return store.measurement_of(
        session.task_key,
        session.default,
        sketch=name,
        sketch_version=version,
        machine=session.machine.get("fingerprint"),
    )


def elsewhere(session: Session) -> str:
    """Where a run measured if that was not this machine, as a line; else an empty one."""
    from tunesmith.machine import machine_of

    here = machine_of(session.task_key)["fingerprint"]
    if session.machine["fingerprint"] == here:
        return ""
    emulated = ": these times say nothing of a real one" if session.machine.get("emulated") else ""
    return f"measured on {session.device}{emulated}"


def flops_of(session: Session) -> float | None:
    """The operations of one call of what a run tuned, None where it is no operator known here."""
    from tunesmith.operators import operator_from_json

    try:
        return float(operator_from_json(session.description.get("operator") or {}).flops)
    except TunesmithError:  # a command, a function, or an operator of a package that is not here
        return None
