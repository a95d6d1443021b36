"""What measures the tasks of a network, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tunesmith.errors import TunesmithError
from tunesmith.measure.trial.job import Job
from tunesmith.measure.trial.measurers import HasMachine, Measurers
from tunesmith.problem import Measurer, MeasurerLostError
from tunesmith.task import Task


@dataclass
class LastingMeasurers:
    """``Measurers`` that measure several jobs.

    Where they have made a measurer before and cannot make the next one, what measures is gone:
    ``measurer`` raises ``MeasurerLostError`` then.
    """

    measurers: Measurers
    _made: bool = False

    def measurer(self, job: Job) -> Measurer:
        try:
            found = self.measurers.measurer(job)
        except TunesmithError as error:
            if self._made:
                raise MeasurerLostError(str(error)) from error
            raise
        self._made = True
        return found


def machine_of(measurers: Measurers | None, tasks: Sequence[Task]) -> str | None:
    """The fingerprint of the machine that the records of tasks are filed under; None: this one."""
    if not tasks or not isinstance(measurers, HasMachine):
        return None
    return str(measurers.machine(tasks[0].target)["fingerprint"])
