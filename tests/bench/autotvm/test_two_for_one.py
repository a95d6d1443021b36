"""What runs that are kept tell of searches that have two trials for one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.compare.runs import MEASURED, trace
from tunesmith.bench.autotvm.experiments import PARTS
from tunesmith.bench.autotvm.two_for_one import as_table, kept, two_for_one
from tunesmith.bench.compare.runs import CompareSettings, Results, Run
from tunesmith.bench.compare.simulated_trace import save_trace
from tunesmith.bench.compare.tuners import TunerChoice
from tunesmith.errors import UsageError
from tunesmith.tuners import tuner

SLOW, GOOD, BEST = 3e-3, 1.01e-3, 1e-3


def made_up() -> Results:
    """Runs of four trials: with two for one the GA is at its best after two, alone not yet."""
    of_lines = {
        "GBT": trace(SLOW, GOOD, GOOD, GOOD),
        "GA": trace(SLOW, SLOW, BEST, BEST),
        "random": trace(SLOW, SLOW, SLOW, SLOW),
    }
    tuners = {name: TunerChoice(name, tuner("random")) for name in of_lines}
    traces = {Run(MEASURED, tuners[name], 0): each for name, each in of_lines.items()}
    return Results([MEASURED], list(tuners.values()), traces)


def test_two_trials_for_one_are_the_same_run_by_half_the_clock() -> None:
    rows = {row["line"]: row for row in two_for_one(made_up(), 4)}
    assert {name: row["trials_to_95"] for name, row in rows.items()} == {
        "GBT": 2,
        "GA": None,
        "GA × 2": 2,
        "random": None,
        "random × 2": None,
    }
    assert rows["GA × 2"]["best"] == 1.0
    assert rows["GBT"]["best"] == pytest.approx(BEST / GOOD)
    assert rows["GA"]["best"] == pytest.approx(BEST / SLOW), "after two of its four trials"
    assert (rows["GBT"]["sooner"]["GA × 2"], rows["GBT"]["later"]["GA × 2"]) == (0.0, 0.0)
    assert rows["GBT"]["sooner"]["random × 2"] == 1.0


def test_the_table() -> None:
    written = as_table(two_for_one(made_up(), 4), 1).splitlines()
    assert written[2] == "| GBT | 2 | 100 % | 99.0 | 0 % (0 %) | 100 % (0 %) |"
    assert written[4] == "| GA × 2 | 2 | 100 % | 100.0 | – | 100 % (0 %) |"


def test_runs_of_older_code_count(tmp_path: Path) -> None:
    part = PARTS["model"]
    problems = part.problems(Path())
    comparison = part.comparison(problems, CompareSettings(part.repeats, trials=4), tmp_path)
    run = next(it for it in comparison.runs() if it.tuner.label == "GA")
    save_trace(comparison.kept.path(run), trace(SLOW, SLOW, BEST, BEST), "of other code")
    assert comparison.kept.load(run) is None
    found = kept(tmp_path, 4)
    assert [(it.problem, it.tuner.label, it.repeat) for it in found.traces] == [
        (run.problem, "GA", run.repeat)
    ]
    with pytest.raises(UsageError, match="keeps no runs of the part model with 6 trials"):
        kept(tmp_path, 6)


def test_what_is_no_folder_is_told_in_a_line(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tunesmith.bench.autotvm.two_for_one"]
    ran = subprocess.run(
        [*words, str(tmp_path), "4"], capture_output=True, text=True, check=False, timeout=120
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith("tunesmith: ")
    assert len(ran.stderr.splitlines()) == 1
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert ran.stderr == ("usage: python -m tunesmith.bench.autotvm.two_for_one FOLDER TRIALS\n")
