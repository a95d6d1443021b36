"""What a store knows of a network's layers on this machine, while they are tuned."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from tunesmith.measure.task.problem import TaskProblem
from tunesmith.networks import Network
from tunesmith.networks.reporting.rows import task_rows
from tunesmith.networks.reporting.stored import StoredTask, stored_tasks
from tunesmith.reports.networks.model import NetworkReport
from tunesmith.store.overview import Overview
from tunesmith.task import Task


@dataclass
class WatchedNetwork:
    """A network and its name for people; ``report`` is what is known of it now."""

    title: str
    network: Network
    store: Overview
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _problems: dict[Task, Sequence[TaskProblem]] = field(default_factory=dict)
    _known: tuple[tuple[int, ...], NetworkReport] | None = None

    def report(self) -> NetworkReport:
        """The layers with the best times of the store. Raises `StoreError` if it cannot be read."""
        with self._lock:
            state = self.store.state()
            if self._known is None or self._known[0] != state:
                self._known = state, self._read()
            return self._known[1]

    def _read(self) -> NetworkReport:
        if not self._problems:  # finding the sketches of a task takes longer than asking the store
            tasks = stored_tasks(self.network.tasks, self.store)
            self._problems = {stored.task: stored.problems for stored in tasks}
        stored = [
            StoredTask(task, self.network.tasks[task], problems, self.store)
            for task, problems in self._problems.items()
        ]
        numbers = {each.task: number for number, each in enumerate(stored)}
        layers = [numbers[self.network.task_of(layer)] for layer in self.network.layers]
        return NetworkReport(
            title=self.title,
            inputs="",
            target="",
            machine="",
            tasks=task_rows(stored),
            layers=layers,
        )
