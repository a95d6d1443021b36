"""How many of a store's trials a model can learn from, and of what the others are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tunesmith.sketches.registry import SKETCHES
from tunesmith.store import ANY_MACHINE
from tunesmith.transfer.of_store.scope import Scope
from tunesmith.transfer.training_set import task_of

if TYPE_CHECKING:
    from tunesmith.store import Store


@dataclass(frozen=True)
class Elsewhere:
    """Trials that a scope leaves out for their target or machine: how many, by whose they are."""

    trials: Mapping[str, int]

    @property
    def count(self) -> int:
        """How many there are of all."""
        return sum(self.trials.values())

    def __str__(self) -> str:
        ordered = sorted(self.trials.items(), key=lambda item: (-item[1], item[0]))
        return ", ".join(f"{count:,} for {whose}" for whose, count in ordered)


def trials_of(store: Store, scope: Scope, key: str | None = None) -> int:
    """How many trials a store has of the tasks of a scope, by any sketch, those of the task with
    this key left out."""
    return sum(_by_target(store, scope, scope.machine, key).values())


def elsewhere(store: Store, scope: Scope, here: int, key: str | None = None) -> Elsewhere:
    """The trials for other targets than a scope's, and for its target on other machines; counted
    like those of the scope, which are ``here``."""
    there = _by_target(store, replace(scope, target=None), ANY_MACHINE, key)
    same = replace(scope, operators=(), sketches=()).name
    others = there.pop(same, 0) - here
    if scope.target is not None and others > 0:
        there[f"{same} on other machines"] = others
    return Elsewhere({} if scope.target is None else there)


def _by_target(store: Store, scope: Scope, machine: str | None, key: str | None) -> dict[str, int]:
    """How many trials there are of the tasks of a scope, by the names of their targets."""
    found: dict[str, int] = {}
    for summary in store.tasks(machine=machine):
        task = task_of(summary)
        if summary.trials and summary.key != key and task is not None and scope.has(task):
            name = Scope(task.target).name
            trials = summary.trials if machine is not ANY_MACHINE else _usable(store, summary.key)
            found[name] = found.get(name, 0) + trials
    return {name: count for name, count in found.items() if count}


def _usable(store: Store, key: str) -> int:
    """How many of a task's trials are of sketches that there are: from others, such as those of
    imported logs, no model learns."""
    known = SKETCHES.names()
    counts = (
        store.outcomes(key, sketch=name, sketch_version=version, machine=ANY_MACHINE)
        for name, version in store.sketches(key, machine=ANY_MACHINE)
        if name in known
    )
    return sum(sum(outcomes.values()) for outcomes in counts)
