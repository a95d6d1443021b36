"""Ctrl-C keeps what evolution found, whenever it comes."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.evolve.words import run
from tunesmith.budget import Budget
from tunesmith.evolve.evaluation.pool import EvaluationPool
from tunesmith.evolve.run import State
from tunesmith.store import open_store

pytest.importorskip("deap", reason="DEAP is not installed")


def test_ctrl_c_keeps_the_front(tmp_path: Path) -> None:
    def interrupt(state: State) -> None:
        if state.number == 3 and not state.doing:
            raise KeyboardInterrupt

    front = run(progress=interrupt, store=tmp_path / "records.db", budget=Budget(seconds=600))
    assert front.stopped == "interrupted"
    assert len(front) == 1
    assert front[0].speedup > 1
    with open_store(tmp_path / "records.db") as store:
        (task,) = store.tasks()
        assert len(store.evaluations(task.key)) == front.evaluations


@pytest.mark.parametrize("moment", [5, 40, 75])
def test_ctrl_c_amid_an_evaluation(moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is being evaluated then is nobody's any more."""
    answers = EvaluationPool.answers
    count = itertools.count()

    def interrupted(pool: EvaluationPool, timeout: float) -> Any:
        for answer in answers(pool, timeout):
            if next(count) == moment:
                raise KeyboardInterrupt
            yield answer

    monkeypatch.setattr(EvaluationPool, "answers", interrupted)
    front = run(error=1.0, budget=Budget(seconds=600))
    assert front.stopped == "interrupted"
    assert front.evaluations <= moment
    assert len(front) >= (moment > 5)


class Disposed:
    """Ctrl-C comes while it is disposed of: Python drops the exception."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_that_python_drops() -> None:
    """``llvmlite`` disposes of modules, for one, which takes a share of the time."""
    objects = [Disposed()]
    ended = []

    def interrupt(state: State) -> None:
        ended.append(state.number)
        if state.number == 3:
            objects.clear()

    front = run(progress=interrupt, budget=Budget(seconds=600))
    assert front.stopped == "interrupted"
    assert max(ended) == 3
