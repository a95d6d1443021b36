"""A long run in which one trial in twenty goes wrong, in every way: nothing adds up but results."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.families import family
from tests.measure.local.faulty_sketch import FAULTS, SETTINGS
from tests.measure.local.rarely_faulty_sketch import TRIALS, RarelyFaulty, fault_of
from tests.sweeps import share_of
from tunesmith.budget import Budget, Stop
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measurement import Outcome
from tunesmith.operators import matmul
from tunesmith.progress import Progress
from tunesmith.store import open_store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.tuning.tune import tune

MARK = "TUNESMITH_TEST_FAULTS"
# What the loop, the tuner and their results remember of a trial is about a kilobyte.
BYTES_A_TRIAL = 4096


@pytest.mark.thorough
@pytest.mark.alone
def test_nothing_leaks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    pytestconfig: pytest.Config,
) -> None:
    trials, mark = share_of(TRIALS, pytestconfig), uuid.uuid4().hex
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv(MARK, mark)
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    ourselves = psutil.Process()
    seen: list[tuple[int, int, int]] = []

    def watch(state: Progress) -> None:
        if state.trials >= len(seen) * trials // 20:
            server = [child for child in ourselves.children() if child.is_running()]
            seen.append((ourselves.memory_info().rss, ourselves.num_fds(), len(server)))
            with capfd.disabled():
                print(
                    f"{state.trials} of {trials} trials, {seen[-1][0] >> 20} MiB, "
                    f"{seen[-1][1]} descriptors, {state.elapsed:.0f} s",
                    flush=True,
                )

    problem = TaskProblem(Task(matmul(m=16, n=16, k=16), Target(cores=1)), RarelyFaulty())
    # Time enough for what works, for a disturbance of seconds is to be expected in so long a run.
    settings = replace(SETTINGS, build_timeout=6.0, run_timeout=3.0, repeats=1, measure_again=True)
    store = tmp_path / "trials.db"
    result = tune(
        problem, "grid", Budget(trials=trials), store=store, settings=settings, progress=watch
    )
    assert result.trials == trials
    assert result.stopped in (Stop.TRIALS, Stop.EXHAUSTED)

    with open_store(store) as opened:
        measured = [record.measurement for record in opened.records(problem.key)]
    found = {int(str(it.config["number"])): it for it in measured}
    assert len(found) == len(measured) == trials
    wrong = Counter[str]()
    for number, measurement in found.items():
        expected, words = expected_of(fault_of(number))
        if measurement.outcome is not expected or words not in measurement.message:
            wrong[f"{fault_of(number)}: {measurement.outcome.name} {measurement.message}"] += 1
    assert not wrong

    # All is loaded and warm at a tenth of the run.
    (early, descriptors, _), (late, descriptors_late, _) = seen[2], seen[-1]
    assert late - early < (8 << 20) + BYTES_A_TRIAL * trials
    assert descriptors_late <= descriptors
    assert {process.pid for process in family(MARK, mark)} <= {os.getpid()}
    assert [path for path in scratch.rglob("*") if path.is_file()] == []


def expected_of(fault: str) -> tuple[Outcome, str]:
    """The class of its outcome, and what its message says."""
    if fault == "none":
        return Outcome.NO_ERROR, ""
    outcome, words = FAULTS.get(fault, (Outcome.UNKNOWN_ERROR, "it killed its worker process"))
    return outcome, words.partition(" after ")[0]  # the seconds of a limit are others here
