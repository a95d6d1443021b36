"""What measures the tasks of a network: whose records count, and what ends a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from tests.tuning.test_measurers import BoardMeasurer, Boards
from tunesmith.budget import Budget
from tunesmith.errors import UsageError
from tunesmith.measure.task.portfolio import joined, problems_of
from tunesmith.measure.trial.job import Job
from tunesmith.networks.measurers import LastingMeasurers
from tunesmith.networks.tune import HowToTune, NetworkResult, tune_tasks
from tunesmith.operators import matmul
from tunesmith.problem import MeasurerLostError, MeasureSettings
from tunesmith.store import Store, open_store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.tuners import tuner

TASKS = {Task(matmul(m=8, n=8, k=size), Target(cores=1)): 1 for size in (8, 16)}
SETTINGS = MeasureSettings(repeats=1)


class NamedBoards(Boards):
    """They say beforehand which board it is. After ``left`` measurers there are none."""

    left = 1000

    def machine(self, target: Target) -> Mapping[str, Any]:
        assert target == Target(cores=1)
        return {"fingerprint": self.board}

    def measurer(self, job: Job) -> BoardMeasurer:
        if len(self.jobs) == self.left:
            raise UsageError("no board is left")
        return super().measurer(job)


@pytest.fixture
def store() -> Store:
    return open_store("sqlite://")


def tuned(store: Store, boards: Boards, seconds: float = 2.0) -> NetworkResult:
    how = HowToTune(tuner("random"), store, settings=SETTINGS, measurers=boards, transfer=False)
    return tune_tasks(TASKS, Budget(seconds=seconds), how)


def test_a_run_knows_what_the_board_has_measured(store: Store) -> None:
    first = tuned(store, NamedBoards())
    assert [each.before for each in first.tasks] == [float("inf")] * 2
    assert math.isfinite(first.tasks[0].after)
    assert store.tasks()[0].trials == 0, "nothing was measured on this machine"
    # With so little time nothing is tuned: this is what the store has.
    again = tuned(store, NamedBoards(), 1e-9)
    assert {it.task: it.before for it in again.tasks} == {it.task: it.after for it in first.tasks}
    other = tuned(store, NamedBoards("another board"), 1e-9)
    assert [each.before for each in other.tasks] == [float("inf")] * 2


def test_measurers_that_were_there_before_are_lost() -> None:
    boards = NamedBoards()
    boards.left = 1
    measurers, (task, *_) = LastingMeasurers(boards), TASKS
    job = joined(problems_of(task)).job(SETTINGS)
    assert measurers.measurer(job).machine["fingerprint"] == "board"
    with pytest.raises(MeasurerLostError, match=r"^no board is left$"):
        measurers.measurer(job)


def test_boards_that_were_never_there_are_complained_of(store: Store) -> None:
    boards = NamedBoards()
    boards.left = 0
    with pytest.raises(UsageError, match=r"^no board is left$"):
        tuned(store, boards)
