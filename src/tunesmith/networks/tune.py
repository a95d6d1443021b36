"""Tunes the tasks of a network, each for as long as its time is worth it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunesmith.budget import Budget, Stop
from tunesmith.errors import UsageError
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.measure.trial.measurers import Measurers
from tunesmith.networks.allocation import Account, next_task
from tunesmith.networks.measurers import LastingMeasurers, machine_of
from tunesmith.problem import MeasurerLostError, MeasureSettings
from tunesmith.progress import Progress
from tunesmith.store import Run, Store
from tunesmith.task import Task
from tunesmith.transfer.model import GlobalModel
from tunesmith.transfer.of_store import Tell, Transfer, model_for
from tunesmith.tuners import Tuner
from tunesmith.tuning.result import Result
from tunesmith.tuning.tune import tune

# A slice is so long at least, in seconds: a run takes one or two of them to begin.
_SHORTEST = 8.0
# The first slices of all tasks together take this share of the time, later ones a part of what is
# left, so that there are many.
_FIRST_SHARE = 0.5
_SLICES_LEFT = 12
# A task with fewer trials still begins with what the model likes: its starts.
_STARTED = 17


@dataclass(frozen=True)
class TunedTask:
    """What tuning has brought a task: ``before`` and ``after`` are seconds of a call, infinite
    where there was no valid trial; ``trials`` and ``seconds`` of this run."""

    task: Task
    layers: int
    before: float
    after: float
    trials: int
    seconds: float


@dataclass(frozen=True)
class NetworkResult:
    """The outcome of tuning a network.

    ``stopped`` says why it ended; a store that failed says why in ``failure``, and what it did not
    take is in the file ``rescued``. ``lost`` says what has become of that which measures, if
    nothing of it is left.
    """

    tasks: Sequence[TunedTask]
    seconds: float
    stopped: Stop
    failure: str = ""
    rescued: Path | None = None
    lost: str = ""

    @property
    def call_seconds(self) -> float:
        """Seconds that the layers of a call take in all; infinite if one has no time."""
        return sum(each.layers * each.after for each in self.tasks)


@dataclass(frozen=True)
class NetworkProgress:
    """The state of a run over the tasks of a network.

    ``task`` is being tuned, the ``number``-th one. ``elapsed`` of ``seconds`` are spent. ``timed``
    tasks have a time, and all calls of these take ``call_seconds``.
    """

    task: Task
    number: int
    tasks: int
    elapsed: float
    seconds: float
    timed: int
    call_seconds: float
    run: Progress | None


@dataclass(frozen=True)
class HowToTune:
    """What the runs of all tasks have in common."""

    tuner: Tuner
    store: Store
    seed: int = 0
    settings: MeasureSettings | None = None
    measurers: Measurers | None = None
    transfer: Transfer = True
    tell: Tell | None = None


def tune_tasks(
    tasks: Mapping[Task, int],
    budget: Budget,
    how: HowToTune,
    progress: Callable[[NetworkProgress], None] | None = None,
) -> NetworkResult:
    """Tune tasks for ``budget.seconds`` in all; ``tasks`` has how many layers each one is.

    Each task gets a first slice unless the store knows it, those with the most work first; then
    those get more that are expected to gain most: see ``Account``. Ctrl-C ends the run, and so does
    the loss of the last device or node; everything measured is in the store. Raises ``UsageError``
    for a budget without seconds, and like ``tune``.
    """
    if budget.seconds is None:
        raise UsageError("tuning a network needs a budget of seconds: give Budget(seconds=600)")
    return _NetworkRun(tasks, budget.seconds, how, progress).go()


def seconds_of(runs: Iterable[Run]) -> float:
    """For how many seconds the runs of a task have tuned it."""
    return sum(sum(run.session.time_split.values()) for run in runs)


class _NetworkRun:
    def __init__(
        self,
        tasks: Mapping[Task, int],
        seconds: float,
        how: HowToTune,
        progress: Callable[[NetworkProgress], None] | None,
    ) -> None:
        self._tasks = sorted(tasks, key=lambda task: -tasks[task] * task.operator.flops)
        self._seconds = seconds
        self._how = how
        self._progress = progress
        self._begun = time.monotonic()
        self._measurers = None if how.measurers is None else LastingMeasurers(how.measurers)
        self._machine = machine_of(how.measurers, self._tasks)
        self._accounts = [self._account(task, tasks[task]) for task in self._tasks]
        self._before = [account.best for account in self._accounts]
        self._spent = [account.seconds for account in self._accounts]
        self._trials = [0] * len(self._tasks)
        # Chosen once: the store grows, and training takes seconds.
        self._model: GlobalModel | None = None
        if self._tasks:
            self._model = model_for(how.store, self._tasks[0].target, how.transfer, how.tell)

    def _account(self, task: Task, layers: int) -> Account:
        """What the store knows of a task."""
        store, machine = self._how.store, self._machine
        # Of other sketches, or of other versions of them, no build takes anything.
        sketches = [(each.sketch.name, each.sketch.version) for each in problems_of(task)]
        best = store.best(task.key, among=sketches, machine=machine)
        if best is None:
            return Account(layers)
        counts = (
            store.outcomes(task.key, sketch=name, sketch_version=version, machine=machine)
            for name, version in sketches
        )
        trials = sum(sum(outcomes.values()) for outcomes in counts)
        runs = store.runs(task.key, machine=machine)
        spent = seconds_of(run for run in runs if {*sketches} & {*run.session.sketches})
        return Account(layers, max(spent, _SHORTEST), trials, best.measurement.seconds)

    def go(self) -> NetworkResult:
        try:
            while (number := next_task(self._accounts)) is not None:
                left = self._seconds - self._elapsed
                if left <= 0:
                    return self._result(Stop.SECONDS)
                seconds = min(left, self._length(left))
                result = self._slice(number, seconds, min(seconds, left - seconds))
                if result.stopped in (Stop.INTERRUPTED, Stop.STORE, Stop.LOST):
                    return self._result(result.stopped, result.failure, result.rescued, result.lost)
        except KeyboardInterrupt:  # while a slice begins or ends
            return self._result(Stop.INTERRUPTED)
        except MeasurerLostError as error:  # between two slices
            return self._result(Stop.LOST, lost=str(error))
        return self._result(Stop.EXHAUSTED)

    def _result(
        self, stopped: Stop, failure: str = "", rescued: Path | None = None, lost: str = ""
    ) -> NetworkResult:
        return NetworkResult(self._found(), self._elapsed, stopped, failure, rescued, lost)

    @property
    def _elapsed(self) -> float:
        return time.monotonic() - self._begun

    def _length(self, left: float) -> float:
        """Seconds of the next slice, with so many left."""
        untimed = sum(account.is_tried for account in self._accounts)
        if untimed:
            wanted = max(_SHORTEST, _FIRST_SHARE * self._seconds / len(self._accounts))
            return min(wanted, left / untimed)
        return max(_SHORTEST, left / _SLICES_LEFT)

    def _slice(self, number: int, seconds: float, late_seconds: float) -> Result:
        """Tune a task for so many seconds, and for ``late_seconds`` more if all trials fail.

        It needs no more: it is tried again, and a build takes the model's pick at last.
        """
        account, task = self._accounts[number], self._tasks[number]
        begun = time.monotonic()

        def tell(run: Progress) -> None:
            self._tell(number, run)

        self._tell(number, None)
        how = self._how
        result = tune(
            task,
            how.tuner,
            Budget(seconds=seconds),
            store=how.store,
            seed=how.seed,
            prior=account.trials < _STARTED,
            transfer=self._model or False,
            settings=how.settings,
            measurers=self._measurers,
            progress=tell,
            late_seconds=late_seconds,
        )
        best = math.inf if result.best is None else result.best.seconds
        account.spend(time.monotonic() - begun, result.trials, best)
        account.closed = result.stopped is Stop.EXHAUSTED
        self._trials[number] += result.own_trials
        return result

    def _tell(self, number: int, run: Progress | None) -> None:
        if self._progress is None:
            return
        bests = [account.best for account in self._accounts]
        if run is not None and run.best_seconds is not None:
            bests[number] = min(bests[number], run.best_seconds)
        timed = [
            account.weight * best
            for account, best in zip(self._accounts, bests, strict=True)
            if math.isfinite(best)
        ]
        self._progress(
            NetworkProgress(
                task=self._tasks[number],
                number=number + 1,
                tasks=len(self._tasks),
                elapsed=self._elapsed,
                seconds=self._seconds,
                timed=len(timed),
                call_seconds=sum(timed),
                run=run,
            )
        )

    def _found(self) -> list[TunedTask]:
        return [
            TunedTask(task, account.weight, before, account.best, trials, account.seconds - spent)
            for task, account, before, spent, trials in zip(
                self._tasks, self._accounts, self._before, self._spent, self._trials, strict=True
            )
        ]


def summary(result: NetworkResult) -> dict[str, Any]:
    """A result as JSON."""
    rescued = None if result.rescued is None else str(result.rescued)
    return {
        "stopped": result.stopped.value,
        **({"failure": result.failure, "rescued": rescued} if result.failure else {}),
        **({"lost": result.lost} if result.lost else {}),
        "seconds": result.seconds,
        "call_seconds": _finite(result.call_seconds),
        "tasks": [
            {
                "task": each.task.key,
                "layers": each.layers,
                "before": _finite(each.before),
                "after": _finite(each.after),
                "trials": each.trials,
                "seconds": each.seconds,
            }
            for each in result.tasks
        ],
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
