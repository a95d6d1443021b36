"""Which of a store's trials a model learns from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self

from tunesmith.errors import TunesmithError
from tunesmith.store import ANY_MACHINE
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.training_set import Series


@dataclass(frozen=True)
class Scope:
    """Which of a store's trials a model learns from: those of all targets, or of one.

    ``operators`` and ``sketches`` are names; none: all.
    """

    target: Target | None
    operators: Collection[str] = ()
    sketches: Collection[str] = ()

    @property
    def machine(self) -> str | None:
        """Whose trials, as in ``Store``: this machine's for its own processor, and those of all for
        all targets and for another processor, such as that of a device elsewhere."""
        if self.target is None or _processor(self.target) != _processor(Target(self.target.kind)):
            return ANY_MACHINE
        return None

    @property
    def name(self) -> str:
        """The name of its model, and of the file: the target, then what it is restricted to."""
        parts = [
            "all" if self.target is None else "-".join(_processor(self.target)),
            "+".join(sorted(set(self.operators))),
            "+".join(sorted(set(self.sketches))),
        ]
        return ".".join(part for part in parts if part)

    def chosen(self, series: Series) -> bool:
        """Whether it has a series."""
        return self.has(series.task) and (not self.sketches or series.sketch in self.sketches)

    def has(self, task: Task) -> bool:
        """Whether it has the trials of a task, or those by some of its sketches."""
        return (self.target is None or _processor(task.target) == _processor(self.target)) and (
            not self.operators or task.operator.name in self.operators
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready mapping, for ``from_json``; the processor is named even if it is this one's,
        as a store may be moved to another machine."""
        target = None
        if self.target is not None:
            kind, processor = _processor(self.target)
            target = {"kind": kind, "mcpu" if kind == "cpu" else "arch": processor}
            if self.target.triple is not None:
                target["triple"] = self.target.triple
        return {
            "target": target,
            "operators": sorted(set(self.operators)),
            "sketches": sorted(set(self.sketches)),
        }

    @classmethod
    def from_json(cls, described: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``. Raises what a mapping of another shape leads to."""
        target = described["target"]
        return cls(
            None if target is None else Target(**target),
            tuple(described["operators"]),
            tuple(described["sketches"]),
        )


def _processor(target: Target) -> tuple[str, str]:
    """The kind of a target and its processor; the number of cores is a feature."""
    try:
        return target.kind, target.gpu_arch if target.kind == "cuda" else target.processor
    except TunesmithError:
        return target.kind, "unknown"
