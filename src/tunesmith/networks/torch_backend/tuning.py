"""The option ``seconds``: tunes the tasks of a graph, for as long as they lack of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tunesmith.budget import Budget, Stop
from tunesmith.measure.local.measurers import LocalMeasurers
from tunesmith.networks.torch_backend.options import Options
from tunesmith.networks.torch_backend.remarks import Remarks
from tunesmith.networks.tune import HowToTune, seconds_of, tune_tasks
from tunesmith.reports.format import counted
from tunesmith.store import open_store
from tunesmith.task import Task
from tunesmith.tuning.result import check_stored

# So little of the seconds that were asked for is not worth a run.
_LEAST = 0.1


class GraphTuning:
    """Tunes the tasks of a graph: for the option ``seconds`` in all, whatever its shapes are."""

    def __init__(self, options: Options, remarks: Remarks) -> None:
        self._options = options
        self._remarks = remarks
        self._tasks: set[Task] = set()
        self._tuned = 0.0

    def tune(self, tasks: Mapping[Task, int]) -> None:
        """Tune tasks for what is left of the seconds; ``tasks`` has how many layers each one is.

        Raises ``KeyboardInterrupt`` after Ctrl-C, when the store has what was measured, and
        ``StoreError``.
        """
        self._tasks.update(tasks)
        wanted = self._options.seconds
        with open_store(self._options.store) as store:
            spent = [seconds_of(store.runs(task.key)) for task in self._tasks]
            left = wanted - max(credit(wanted, spent), self._tuned)
            if left <= _LEAST * wanted:
                return
            self._remarks.say(f"tuning {counted(len(tasks), 'task')} for {left:.0f} seconds")
            with LocalMeasurers() as measurers:  # one server for all tasks
                tell = self._remarks.say
                how = HowToTune(self._options.search, store, measurers=measurers, tell=tell)
                result = tune_tasks(tasks, Budget(seconds=left), how)
        self._tuned += result.seconds
        if result.stopped is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        check_stored(result)


def credit(wanted: float, spent: Sequence[float]) -> float:
    """How many of the seconds that are ``wanted`` for tasks are spent, by those of each task.

    Some may have been tuned for other networks, and for much longer. While others were not tuned at
    all, no task counts for more than its equal share: so these get theirs.
    """
    if all(spent):
        return sum(spent)
    return sum(min(each, wanted / len(spent)) for each in spent)
