"""Where a task is measured: a choice of whoever tunes it."""

from __future__ import annotations

from typing import Protocol

from tunesmith.measure.trial.job import Job
from tunesmith.problem import Measurer


class Measurers(Protocol):
    """Makes measurers of tasks: for this machine, or for devices elsewhere.

    ``tune(task, measurers=...)`` takes one. What its measurers give is filed under their
    ``machine``.
    """

    def measurer(self, job: Job) -> Measurer:
        """A new measurer for a job. Raises ``TunesmithError`` where nothing can be measured."""
        ...
