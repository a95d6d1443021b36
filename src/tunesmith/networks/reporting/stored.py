"""What a store knows of a network's tasks on a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tunesmith.measure.task.portfolio import problems_of
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.store import Record, Session
from tunesmith.store.reading import Reader
from tunesmith.task import Task


@dataclass(frozen=True)
class TunedRun:
    """A tuning run of a task: its records in the order of time, play-offs among them."""

    session: Session
    records: Sequence[Record]

    @property
    def seconds(self) -> float:
        """How long it took; of a run that was killed, until its last record."""
        last = max(map(self.elapsed, self.records), default=0.0)
        return max(last, sum(self.session.time_split.values()))

    def elapsed(self, record: Record) -> float:
        """Seconds from its start to a record."""
        return max(0.0, (record.created - self.session.started).total_seconds())


@dataclass(frozen=True, eq=False)
class StoredTask:
    """A task of so many ``layers`` in a store, on a ``machine`` as the store has it. Records of
    other versions of its sketches than the current ones do not count."""

    task: Task
    layers: int
    problems: Sequence[TaskProblem]
    store: Reader
    machine: str | None = None

    @property
    def _sketches(self) -> list[tuple[str, int]]:
        """Name and version of each."""
        return [(problem.sketch.name, problem.sketch.version) for problem in self.problems]

    @cached_property
    def best(self) -> Record | None:
        """The best record, which a build takes."""
        return self.store.best(self.task.key, among=self._sketches, machine=self.machine)

    @cached_property
    def default_seconds(self) -> float | None:
        """Seconds of the default schedule, which is that of the first sketch; None if unknown."""
        name, version = self._sketches[0]
        found = self.store.measurement_of(
            self.task.key,
            self.problems[0].default,
            sketch=name,
            sketch_version=version,
            machine=self.machine,
        )
        return found.seconds if found is not None and found.valid else None

    @cached_property
    def runs(self) -> Sequence[TunedRun]:
        """Its tuning runs, the oldest first."""
        sketches = set(self._sketches)
        records: dict[str, list[Record]] = {}
        for play_off in (False, True):
            found = self.store.records(self.task.key, play_off=play_off, machine=self.machine)
            for record in found:
                if (record.sketch, record.sketch_version) in sketches:
                    records.setdefault(record.session.uid, []).append(record)
        return [
            TunedRun(run, sorted(records.get(run.uid, []), key=lambda record: record.created))
            for run in self.store.sessions(self.task.key, machine=self.machine)
            if sketches.intersection(run.sketches)
        ]

    @property
    def trials(self) -> int:
        counts = (
            self.store.outcomes(
                self.task.key, sketch=name, sketch_version=version, machine=self.machine
            )
            for name, version in self._sketches
        )
        return sum(sum(outcomes.values()) for outcomes in counts)


def stored_tasks(
    tasks: Mapping[Task, int], store: Reader, machine: str | None = None
) -> list[StoredTask]:
    """The tasks of a network, of which each is so many layers."""
    return [
        StoredTask(task, layers, problems_of(task), store, machine)
        for task, layers in tasks.items()
    ]
