"""Runs that are killed at any moment of theirs, then resumed: nothing is lost, nothing repeated."""

from __future__ import annotations

import random
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.command import (
    Process,
    assert_sound,
    configs_in,
    eventually,
    trials_in,
    tunesmith,
)
from tests.sweeps import share_of

MOMENTS = 100
TRIALS = 12
WORDS = [
    *("tune", "matmul", "--m", "32", "--n", "32", "--k", "32", "--tuner", "random"),
    *("--repeats", "1", "--min-repeat-ms", "1", "--trials", TRIALS, "--json"),
]
STAGES = ("the start", "the first trial", "the middle", "the play-off")


@dataclass(frozen=True)
class Whole:
    """How long a run takes that nobody kills, in seconds: to its first trial, and in all."""

    first_trial: float
    end: float


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    store = tmp_path_factory.mktemp("whole") / "tuning.db"
    started = time.monotonic()
    run = Process.start([*WORDS, "--store", store])
    with run.cleaned_up():
        eventually(lambda: trials_in(store) >= 1, "a trial")
        first = time.monotonic() - started
        assert run.wait().json["trials"] == TRIALS
    return Whole(first, time.monotonic() - started)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The same moments each time, all stages among them."""
    if "moment" in metafunc.fixturenames:
        count = share_of(MOMENTS, metafunc.config, least=len(STAGES))
        cases = [(STAGES[number % len(STAGES)], number) for number in range(count)]
        ids = [f"{number}: {stage}" for stage, number in cases]
        metafunc.parametrize(("stage", "moment"), cases, ids=ids)


@pytest.mark.thorough
def test_a_run_goes_on_from_any_moment(
    stage: str, moment: int, whole: Whole, tmp_path: Path
) -> None:
    store, scratch = tmp_path / "tuning.db", tmp_path / "scratch"
    scratch.mkdir()
    run = Process.start([*WORDS, "--store", store], env={"TMPDIR": str(scratch)})
    with run.cleaned_up():
        _wait(run, store, stage, whole, random.Random(moment))
        known = configs_in(store)
        run.process.kill()
        ran = run.wait()
        eventually(lambda: not run.family(), "all its processes have ended")
    assert ran.code in (-signal.SIGKILL, 0), ran.err
    assert [path for path in scratch.rglob("*") if path.is_file()] == []
    before = configs_in(store)
    assert known <= before
    told = re.findall(rf"^trial (\d+) of {TRIALS}\b", ran.err, re.MULTILINE)
    assert before.total() >= max(map(int, told), default=0), "what was told of is stored"
    resumed = tunesmith(*WORDS, "--store", store).json
    assert (resumed["resumed"], resumed["trials"]) == (before.total(), TRIALS)
    assert before <= configs_in(store)
    assert_sound(store)
    assert configs_in(store).total() == TRIALS
    assert tunesmith("best", *WORDS[1:8], "--store", store, "--json").json["trials"] == TRIALS


def _wait(run: Process, store: Path, stage: str, whole: Whole, rng: random.Random) -> None:
    """Until a moment of the stage, or the end of a run that was faster."""

    def has(trials: int) -> None:
        eventually(lambda: trials_in(store) >= trials or run.process.poll() is not None, "trials")

    trial = (whole.end - whole.first_trial) / TRIALS
    if stage == "the start":
        time.sleep(rng.uniform(0.0, whole.first_trial))
    elif stage == "the first trial":
        has(1)
        time.sleep(rng.uniform(0.0, trial))
    elif stage == "the middle":
        has(rng.randint(2, TRIALS - 2))
        time.sleep(rng.uniform(0.0, 2 * trial))
    else:
        has(TRIALS)
        time.sleep(rng.uniform(0.0, 2 * trial))
