"""The protocol of factories of measurers, which decide where a task is measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from tunesmith.measure.trial.job import Job
from tunesmith.problem import Measurer, MeasureSettings
from tunesmith.target import Target


@runtime_checkable
class HasJob(Protocol):
    """A problem that can be measured anywhere, because a job says all that it takes."""

    def job(self, settings: MeasureSettings) -> Job:
        """What a measurer has to know."""
        ...


@runtime_checkable
class Measurers(Protocol):
    """Makes measurers of tasks, for this machine or for devices elsewhere.

    ``tune(task, measurers=...)`` takes one. Records are filed under the ``machine`` of the measurer
    that made them.
    """

    def measurer(self, job: Job) -> Measurer:
        """A new measurer for a job. Raises ``TunesmithError`` if the job cannot be measured."""
        ...


@runtime_checkable
class HasMachine(Protocol):
    """Measurers that know which machine they measure on before they make a measurer.

    Those that do not are taken for ones of this machine where several tasks share a budget: what
    earlier runs spent on a task elsewhere does not count then.
    """

    def machine(self, target: Target) -> Mapping[str, Any]:
        """The ``machine`` of the measurers of jobs for a target. Raises like ``measurer``."""
        ...
