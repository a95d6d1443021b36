"""The best configs of all runs of a workload are measured together, for real."""

from __future__ import annotations

import itertools
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bench.compare.runs import MEASURED
from tunesmith.bench.compare import compare, settle
from tunesmith.bench.compare.compare import Comparison
from tunesmith.bench.compare.runs import CompareSettings, Run
from tunesmith.bench.compare.settle import settled
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.tuners import choose_tuners
from tunesmith.bench.papers.problem import SearchProblem
from tunesmith.budget import Stop
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.operators import matmul
from tunesmith.space import Config
from tunesmith.testing.trials import failed, measured


def comparison(folder: Path, repeats: int = 2) -> Comparison:
    problem = SearchProblem("x", matmul(m=16, n=16, k=16), "cpu_tiled")
    tuners = choose_tuners(["random", "genetic*2"])
    return Comparison([problem], tuners, CompareSettings(repeats, trials=3), folder)


@pytest.fixture(scope="module")
def measured_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all runs of a comparison, which were measured together in the end."""
    folder = tmp_path_factory.mktemp("settled") / "runs"
    whole = comparison(folder)
    whole.go(whole.saved(), lambda *_: None)
    return folder


@pytest.fixture
def folder(measured_runs: Path, tmp_path: Path) -> Path:
    """Such a folder of a test's own."""
    return Path(shutil.copytree(measured_runs, tmp_path / "runs"))


def test_a_disturbed_end_of_a_run_is_mended(folder: Path) -> None:
    first = comparison(folder)
    results = first.saved()
    assert len(results.traces) == 4
    (together,) = {trace.settled for trace in results.traces.values()}
    assert together

    run, trace = next(iter(results.traces.items()))
    first.kept.save(run, replace(trace.unslowed, found=9.0, settled=""))
    again = comparison(folder)
    saved = again.saved()
    assert 9.0 in {each.found for each in saved.traces.values()}
    again.go(saved, lambda *_: None)
    assert all(each.found < 1.0 for each in saved.traces.values())
    kept = comparison(folder).saved()
    assert {each.settled for each in kept.traces.values()} == {together}
    for run, trace in kept.traces.items():
        assert trace.multiplier == run.tuner.multiplier
        assert len(trace.ended) == 3 * run.tuner.multiplier
        assert trace.found == saved.traces[run].found


def test_what_was_disturbed_each_time_is_measured_again_with_the_next_call(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not in the same one: whatever disturbs has had its time to end."""
    times: list[int] = []
    slowness = 2.0

    def together(_: Any, runs: list[tuple[Run, Trace]]) -> dict[Run, Trace]:
        times.append(len(runs))
        briefs = [trace.brief for _, trace in runs]
        assert None not in briefs
        took = [brief or 0.0 for brief in briefs]
        took[0] *= slowness
        return {
            run: replace(trace, found=seconds)
            for (run, trace), seconds in zip(runs, took, strict=True)
        }

    monkeypatch.setattr(compare, "settled", together)
    whole = comparison(folder)
    whole.kept.path(whole.runs()[-1]).unlink()  # which is done again
    whole.go(whole.saved(), lambda *_: None)
    assert times == [4]
    comparison(folder).go(comparison(folder).saved(), lambda *_: None)
    assert times == [4, 4]
    slowness = 1.0
    comparison(folder).go(comparison(folder).saved(), lambda *_: None)
    assert times == [4, 4, 4]
    comparison(folder).go(comparison(folder).saved(), lambda *_: None)
    assert times == [4, 4, 4], "nothing was disturbed"


class Failing:
    """A problem of which one config has no time when all are measured together."""

    finalists = 2

    def __init__(self, fails: Config, outcome: Outcome) -> None:
        self.fails = fails
        self.outcome = outcome

    def measurer(self, _: object) -> Failing:
        return self

    def play_off(self, candidates: list[Candidate], _: int) -> list[Measurement]:
        return [
            failed(it.config, self.outcome) if it.config == self.fails else measured(it.config, 0.5)
            for it in candidates
        ]

    def close(self) -> None:
        pass


def runs_of(configs: list[Config], seconds: float = 2.0) -> list[tuple[Run, Trace]]:
    """Runs of one trial each, of a config that took so many seconds."""
    (tuner,) = choose_tuners(["random"])
    return [
        (
            Run(MEASURED, tuner, number),
            Trace.of(
                [measured(config, seconds)],
                [1.0],
                {},
                Stop.TRIALS,
                best=seconds,
                candidate=Candidate(config),
            ),
        )
        for number, config in enumerate(configs)
    ]


LATE = -1.0  # ran out of time


class Disturbed:
    """A problem whose configs take a second each, and others the first times that all are measured
    together; what is infinite has a wrong answer."""

    finalists = 2

    def __init__(self, first: list[list[float]]) -> None:
        self.first = first
        self.play_offs = 0

    def measurer(self, _: object) -> Disturbed:
        return self

    def play_off(self, candidates: list[Candidate], _: int) -> list[Measurement]:
        undisturbed = [1.0] * len(candidates)
        times = self.first[self.play_offs] if self.play_offs < len(self.first) else undisturbed
        self.play_offs += 1
        return [self._of(it.config, took) for it, took in zip(candidates, times, strict=True)]

    def _of(self, config: Config, took: float) -> Measurement:
        if took == LATE:
            return failed(config, Outcome.RUN_TIMEOUT)
        return (
            measured(config, took) if math.isfinite(took) else failed(config, Outcome.WRONG_ANSWER)
        )

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("first", "found", "play_offs", "warned"),
    [
        ([], [1.0, 1.0, 1.0], 1, 0),
        ([[1.19, 1.0, 1.19]], [1.19, 1.0, 1.19], 1, 0),
        ([[1.5, 1.0, 1.0]], [1.0, 1.0, 1.0], 2, 0),
        ([[1.5, 1.0, 1.0], [1.3, 1.4, 1.0]], [1.0, 1.0, 1.0], 3, 0),
        # the times of one undisturbed moment, in which all may be slower alike
        ([[1.5, 1.0, 1.0], [1.15, 1.15, 1.15]], [1.15, 1.15, 1.15], 2, 0),
        # there is none: the least times
        ([[1.5, 1.0, 1.0], [1.0, 1.5, 1.0], [1.0, 1.0, 1.5]], [1.0, 1.0, 1.0], 3, 0),
        ([[1.5, 1.0, 1.4], [1.3, 1.0, 1.0], [1.3, 1.4, 1.0]], [1.3, 1.0, 1.0], 3, 1),
        ([[1.5, 1.0, 1.0], [1.3, 1.0, 1.0], [1.4, 1.0, 1.0]], [1.3, 1.0, 1.0], 3, 1),
        # all are slower alike, and one more than the others
        ([[1.5, 1.5, 1.5]], [1.5, 1.5, 1.5], 1, 0),
        ([[1.5, 2.0, 1.5]], [1.0, 1.0, 1.0], 2, 0),
        # what is wrong stays wrong, and is no disturbance
        ([[math.inf, 1.0, 1.0]], [math.inf, 1.0, 1.0], 1, 0),
        ([[1.5, 1.0, 1.0], [1.0, math.inf, 1.0]], [1.0, math.inf, 1.0], 2, 0),
        ([[1.5, math.inf, 1.0], [1.0, 1.0, 1.0]], [1.0, math.inf, 1.0], 2, 0),
        # what has no time has that of another measurement
        ([[1.5, 1.0, 1.0], [LATE, 1.0, 1.0]], [1.0, 1.0, 1.0], 3, 0),
        ([[1.5, LATE, 1.0], [1.0, 1.1, 1.0]], [1.0, 1.1, 1.0], 2, 0),
        ([[1.5, 1.0, 1.0], [1.4, 1.0, 1.0], [1.0, LATE, 1.0]], [1.0, 1.0, 1.0], 3, 0),
    ],
)
def test_what_is_disturbed_is_measured_again(
    first: list[list[float]],
    found: list[float],
    play_offs: int,
    warned: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    problem: Any = Disturbed(first)
    runs = runs_of([Config({"a": number}) for number in range(3)], 1.0)
    assert [trace.found for trace in settled(problem, runs).values()] == found
    assert problem.play_offs == play_offs
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == warned
    assert all("1 of 3 best configs took over 1.2 times what their" in line for line in told)


def test_of_what_is_disturbed_and_late_each_time_both_are_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    problem: Any = Disturbed([[1.5, LATE, 1.0]] * settle.MOST)
    runs = runs_of([Config({"a": number}) for number in range(3)], 1.0)
    found = {run.repeat: trace.found for run, trace in settled(problem, runs).items()}
    assert found == {0: 1.5, 2: 1.0}
    disturbed, late = (record.getMessage() for record in caplog.records)
    assert "1 of 3 best configs took over 1.2 times what their" in disturbed
    assert "1 of 3 best configs ran out of time" in late


@pytest.mark.parametrize(("took", "pause"), [(2.0, 2.0), (300.0, settle.LONGEST_PAUSE)])
def test_what_disturbs_is_given_time_to_end(
    took: float, pause: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as all took together, or half a minute."""
    paused: list[float] = []
    clock = itertools.count(0.0, took)
    monkeypatch.setattr(settle, "sleep", paused.append)
    monkeypatch.setattr(settle, "perf_counter", lambda: next(clock))
    problem: Any = Disturbed([[1.5, 1.0]] * settle.MOST)
    settled(problem, runs_of([Config({"a": number}) for number in range(2)], 1.0))
    assert paused == [pause, pause], "there is nothing to wait for after the last time"
    steady: Any = Disturbed([])
    settled(steady, runs_of([Config({"a": number}) for number in range(2)], 1.0))
    assert paused == [pause, pause], "nor where nothing is disturbed"


def test_of_runs_with_the_same_best_the_faster_trial_counts() -> None:
    problem: Any = Disturbed([[1.3, 1.0]])
    config, other = Config({"a": 0}), Config({"a": 1})
    lucky, slow = runs_of([config, config], 1.0)
    slow = (slow[0], replace(slow[1], brief=2.0))
    others = runs_of([other, other, other], 1.0)[2:]
    assert {trace.found for trace in settled(problem, [slow, lucky, *others]).values()} == {1.0}
    assert problem.play_offs == 2


def test_times_of_runs_that_do_not_tell_their_trials_count_as_they_are() -> None:
    problem: Any = Disturbed([[5.0, 5.0, 5.0]])
    runs = runs_of([Config({"a": number}) for number in range(3)], 1.0)
    of_old = [(run, replace(trace, brief=None)) for run, trace in runs]
    assert [trace.found for trace in settled(problem, of_old).values()] == [5.0] * 3
    assert problem.play_offs == 1


@pytest.mark.parametrize("outcome", [Outcome.RUN_TIMEOUT, Outcome.WRONG_ANSWER])
def test_what_ran_out_of_time_in_the_end_is_not_settled(
    outcome: Outcome, caplog: pytest.LogCaptureFixture
) -> None:
    configs = [Config({"a": number}) for number in range(3)]
    problem: Any = Failing(configs[1], outcome)
    found = {run.repeat: trace.found for run, trace in settled(problem, runs_of(configs)).items()}
    told = [record.getMessage() for record in caplog.records]
    if outcome is Outcome.WRONG_ANSWER:
        assert found == {0: 0.5, 1: math.inf, 2: 0.5}
        assert not told
    else:
        assert found == {0: 0.5, 2: 0.5}
        assert "1 of 3 best configs ran out of time" in told[0]


def test_another_run_means_another_measurement(folder: Path) -> None:
    (before,) = {trace.settled for trace in comparison(folder).saved().traces.values()}
    more = comparison(folder, repeats=3)
    results = more.saved()
    more.go(results, lambda *_: None)
    (after,) = {trace.settled for trace in results.traces.values()}
    assert before != after


def test_a_slowed_run_is_what_it_was() -> None:
    values = np.array([1.0, 2.0])
    codes = np.zeros(2, np.uint8)
    trace = Trace(values, values, codes, values, {"build": 3.0}, Stop.TRIALS, math.inf)
    back = trace.slowed(2).unslowed
    assert back.multiplier == 1
    assert back.ended.tolist() == [1.0, 2.0]
    assert back.time == {"build": 3.0}


def test_runs_that_are_added_are_measured_together_with_those_of_before(tmp_path: Path) -> None:
    whole = comparison(tmp_path)
    random, others = (
        [run for run in whole.runs() if (run.tuner.label == "random") is wanted]
        for wanted in (True, False)
    )
    whole.go(whole.saved(random), lambda *_: None, random)
    saved = whole.saved(others)
    assert saved.traces.keys() == set(random)
    (before,) = {each.settled for each in saved.traces.values()}
    whole.go(saved, lambda *_: None, others)
    assert saved.traces.keys() == {*random, *others}
    (together,) = {each.settled for each in saved.traces.values()}
    assert together != before


def test_only_the_files_of_runs_are_needed(folder: Path) -> None:
    """The store may be gone, as where an experiment goes on on another machine of the kind."""
    first = comparison(folder)
    results = first.saved()
    found = {run: trace.candidate for run, trace in results.traces.items()}
    assert all(each is not None and each.sketch == "cpu_tiled" for each in found.values())
    (folder / "tuning.db").unlink()

    run, trace = next(iter(results.traces.items()))
    first.kept.save(run, replace(trace.unslowed, found=9.0, settled=""))
    again = comparison(folder)
    saved = again.saved()
    assert {run: trace.candidate for run, trace in saved.traces.items()} == found
    again.go(saved, lambda *_: None)
    assert all(each.found < 1.0 for each in saved.traces.values())


def test_times_of_a_run_of_old_that_does_not_tell_its_config_are_not_mixed(folder: Path) -> None:
    first = comparison(folder)
    results = first.saved()
    found = {run: trace.found for run, trace in results.traces.items()}
    run, trace = next(iter(results.traces.items()))
    first.kept.save(run, replace(trace.unslowed, found=9.0, settled="", candidate=None))
    saved = first.saved()
    first.go(saved, lambda *_: None)
    assert {run: trace.found for run, trace in saved.traces.items()} == {**found, run: 9.0}
    assert saved.traces[run].settled == ""
