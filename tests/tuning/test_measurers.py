"""Who measures a task is a choice: measurers from outside the package."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

import pytest

from tests.scripted import Scripted
from tunesmith import InlineMeasurer, Job, LocalMeasurers
from tunesmith.budget import Budget
from tunesmith.errors import InstantiationError, UsageError
from tunesmith.kernel.kernel import Kernel
from tunesmith.machine import this_machine
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.operators import matmul
from tunesmith.problem import MeasureSettings
from tunesmith.store import Store, open_store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.tuning.result import Result
from tunesmith.tuning.tune import tune

TASK = Task(matmul(m=16, n=16, k=16), Target(cores=1))


class BoardMeasurer(InlineMeasurer):
    """Builds and runs in this process, and says that it was on a board."""

    def __init__(self, job: Job, board: str) -> None:
        super().__init__()
        self._job = job
        self._board = board
        self._inputs = job.operator.make_inputs(seed=0)

    @property
    def machine(self) -> Mapping[str, Any]:
        return {"fingerprint": self._board, "cpu": "a board"}

    def measure(self, candidate: Candidate) -> Measurement:
        begin = time.perf_counter()
        program = self._job.program(candidate)
        kernel = Kernel.build(self._job.operator, self._job.target, program, candidate.config)
        start = time.perf_counter()
        kernel(*self._inputs)
        end = time.perf_counter()
        return Measurement(
            candidate.config, Outcome.NO_ERROR, (end - start,), start - begin, end - start
        )


class Boards:
    """Measurers of a board. ``jobs`` are those that they were asked for."""

    def __init__(self, board: str = "board") -> None:
        self.board = board
        self.jobs: list[Job] = []

    def measurer(self, job: Job) -> BoardMeasurer:
        self.jobs.append(job)
        return BoardMeasurer(job, self.board)


@pytest.fixture
def store() -> Store:
    return open_store("sqlite://")


def test_records_are_of_the_machine_that_measured_them(store: Store) -> None:
    boards, settings = Boards(), MeasureSettings(repeats=1)
    result = tune(
        TASK, "random", Budget(trials=5), store=store, settings=settings, measurers=boards
    )
    assert result.best is not None and result.trials == 5
    (job,) = boards.jobs
    assert (job.operator, job.target, job.settings) == (TASK.operator, TASK.target, settings)
    assert {sketch.name for sketch in job.sketches} == result.sketches.keys()
    assert store.count(TASK.key) == 0, "nothing was measured on this machine"
    assert store.count(TASK.key, machine="board") == 5
    best = store.best(TASK.key, machine="board")
    assert best is not None
    assert (best.sketch, best.config) == (result.best.sketch, result.best.config)
    assert best.machine == {"fingerprint": "board", "cpu": "a board"}
    assert result.compile()(*TASK.operator.make_inputs(seed=0)).shape == (16, 16)


def test_a_run_goes_on_from_its_own_machine(store: Store) -> None:
    def run(trials: int, boards: Boards) -> Result:
        budget = Budget(trials=trials)
        return tune(TASK, "random", budget, sketch="cpu_gemm", store=store, measurers=boards)

    run(2, Boards())
    other = run(2, Boards("other board"))
    again = run(4, Boards())
    assert (other.resumed, again.resumed) == (0, 2)
    assert store.count(TASK.key, machine="board") == 4


def test_those_of_this_machine_are_the_default(store: Store) -> None:
    with LocalMeasurers() as measurers:
        result = tune(
            TASK, "random", Budget(trials=2), sketch="cpu_tiled", store=store, measurers=measurers
        )
    assert result.session is not None
    assert result.session.machine == this_machine()
    again = tune(TASK, "random", Budget(trials=4), sketch="cpu_tiled", store=store)
    assert again.resumed == 2


def test_a_problem_that_measures_itself_takes_none(store: Store) -> None:
    with pytest.raises(UsageError, match="measurers are for tasks"):
        tune(Scripted(), "grid", store=store, measurers=Boards())


class FaultyBoard(BoardMeasurer):
    """Every trial fails, in one way and the other."""

    trials = 0

    def measure(self, candidate: Candidate) -> Measurement:
        self.trials += 1
        if self.trials % 2:
            raise InstantiationError("too many threads")
        raise ZeroDivisionError("two\nlines")


def test_an_exception_costs_one_trial(store: Store) -> None:
    class Faulty(Boards):
        def measurer(self, job: Job) -> FaultyBoard:
            return FaultyBoard(job, self.board)

    result = tune(TASK, "random", Budget(trials=4), store=store, measurers=Faulty())
    assert result.outcomes == {Outcome.INSTANTIATION_ERROR: 2, Outcome.UNKNOWN_ERROR: 2}
    assert result.failures == {
        Outcome.INSTANTIATION_ERROR: "too many threads",
        Outcome.UNKNOWN_ERROR: "ZeroDivisionError: two lines",
    }


def test_those_of_this_machine_serve_again(store: Store) -> None:
    measurers = LocalMeasurers()
    for trials in (1, 2):
        with measurers:
            tune(
                TASK, "random", Budget(trials=trials), sketch="cpu_tiled",
                store=store, measurers=measurers,
            )  # fmt: skip
    assert store.count(TASK.key) == 2


def test_what_is_no_measurers_and_no_problem() -> None:
    with pytest.raises(UsageError, match="measurers must be an object with a method measurer"):
        tune(TASK, measurers="here")  # type: ignore[call-overload]
    with pytest.raises(UsageError, match=r"problem must be a Task or a problem \(a BaseProblem\)"):
        tune(Boards())  # type: ignore[call-overload]


class Itself:
    """Decides for itself how it is tuned, like a network."""

    def tune(self, *_: object, **__: object) -> str:
        return "tuned"


@pytest.mark.parametrize(
    ("problem", "what", "given"),
    [
        (Scripted(), "a Task", {"sketch": "cpu_gemm"}),
        (Scripted(), "a Task", {"without_sketches": ["cpu_gemm"]}),
        (Itself(), "a single task or problem", {"sketch": "cpu_gemm"}),
        (Itself(), "a single task or problem", {"without_sketches": ["cpu_gemm"]}),
        (Itself(), "a single task or problem", {"fresh": True}),
        (Itself(), "a single task or problem", {"prior": False}),
        (Itself(), "a single task or problem", {"late_seconds": 1.0}),
    ],
    ids=lambda it: it if isinstance(it, str) else type(it).__name__,
)
def test_what_would_be_ignored_is_refused(
    store: Store, problem: Any, what: str, given: dict[str, Any]
) -> None:
    (name,) = given
    whole = f"{name} is for {what}, not for a {type(problem).__name__}: leave it out"
    with pytest.raises(UsageError, match=f"^{re.escape(whole)}$"):
        tune(problem, "random", store=store, **given)
    if isinstance(problem, Itself):
        assert tune(problem, "random", store=store) == "tuned"
