"""Random trials of the tasks of training sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulated import no_gpu
from tests.transfer.made_up import series, task
from tunesmith.bench.training.gather import GatherSettings, gather, operators_of
from tunesmith.errors import UsageError
from tunesmith.progress import Progress
from tunesmith.store import open_store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.training_set import TrainingSet

__all__ = ["no_gpu"]


def test_the_operators_of_sets_each_once() -> None:
    sets = [
        TrainingSet({}, {}, [series(64, 2), series(96, 2)]),
        TrainingSet({}, {}, [series(64, 2)]),
    ]
    assert operators_of(sets) == [task(64).operator, task(96).operator]


def test_each_operator_gets_so_many_trials_and_no_more(tmp_path: Path) -> None:
    operators = [task(16).operator, task(24).operator]
    told: list[tuple[int, int]] = []

    def tell(number: int, state: Progress) -> None:
        told.append((number, state.trials))

    with open_store(tmp_path / "t.db") as store:
        for _ in range(2):
            gather(operators, Target(), store, GatherSettings(trials=3), progress=tell)
        counts = {summary.key: summary.trials for summary in store.tasks()}
    assert counts == {Task(operator, Target()).key: 3 for operator in operators}
    assert {number for number, _ in told} == {0, 1}


@pytest.mark.usefixtures("no_gpu")
def test_what_cannot_be_measured_here(tmp_path: Path) -> None:
    with (
        open_store(tmp_path / "t.db") as store,
        pytest.raises(UsageError, match=r"--target cpu needs no GPU$"),
    ):
        gather([task(16).operator], Target(kind="cuda", arch="sm_90"), store, GatherSettings())
