"""Comparisons: runs side by side, crashes, resumption, and measured workloads in turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bench.compare.records import install_faulty, record
from tunesmith.bench.compare import compare as compare_module
from tunesmith.bench.compare.compare import Comparison
from tunesmith.bench.compare.measured import measure_run
from tunesmith.bench.compare.problems import MeasuredProblem, choose_problems
from tunesmith.bench.compare.runs import CompareSettings, Results
from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.bench.compare.tuners import choose_tuners
from tunesmith.budget import Budget, Stop
from tunesmith.errors import StoreError, TunesmithError, UsageError
from tunesmith.measurement import Outcome
from tunesmith.operators import matmul, workload
from tunesmith.sketches import sketch_for
from tunesmith.store import open_store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.tuners import Random

Make = Callable[..., Comparison]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Comparisons on a recorded space, in one folder."""
    path = str(record(tmp_path))

    def compare(*tuners: str, problems: Sequence[str] = (path,), **settings: Any) -> Comparison:
        given = CompareSettings(**{"repeats": 3, "workers": 2, **settings})
        return Comparison(choose_problems(problems), choose_tuners(tuners), given, tmp_path / "out")

    return compare


@pytest.fixture
def _faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tuner ``faulty``, here and in all processes that are started."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(install_faulty(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))


def done(comparison: Comparison, results: Results | None = None) -> Results:
    """What a comparison gives, with what it has saved."""
    results = comparison.saved() if results is None else results
    comparison.go(results, lambda *_: None)
    return results


def test_all_runs_are_done_with_seeds_of_their_own(make: Make) -> None:
    comparison = make("random", "genetic:population=8", repeats=4, seed=5)
    results = done(comparison)
    assert results.crashes == []
    (problem,) = comparison.problems
    for tuner in comparison.tuners:
        traces = results.of(problem, tuner)
        assert list(traces) == [0, 1, 2, 3]
        assert len({tuple(trace.seconds.tolist()) for trace in traces.values()}) == 4
    (again,) = done(make("random", repeats=1, seed=6, trials=20)).traces.values()
    second = results.of(problem, comparison.tuners[0])[1]
    assert again.seconds.tolist() == second.seconds[:20].tolist(), "repeat 2 has the seed 6"


def test_a_recorded_space_is_searched_as_long_as_its_score_says(make: Make) -> None:
    comparison = make("random")
    (problem,) = comparison.problems
    (budget, trials), results = comparison.limits(problem), done(comparison)
    assert budget is not None
    assert trials is None
    for trace in results.traces.values():
        assert trace.stopped is Stop.SECONDS
        assert budget - 4 < trace.ended[-1] <= budget
    assert make("random", seconds=9.0).limits(problem) == (9.0, None)
    assert make("random", trials=9).limits(problem) == (None, 9)
    (trace, *_) = done(make("random", trials=9)).traces.values()
    assert (trace.trials, trace.stopped) == (9, Stop.TRIALS)


def test_a_multiplier_gives_trials_and_seconds_so_many_times(make: Make) -> None:
    comparison = make("random*2", "random", repeats=1, trials=9)
    results = done(comparison)
    (problem,) = comparison.problems
    twice, once = (results.of(problem, tuner)[0] for tuner in comparison.tuners)
    (plain,) = done(make("random", repeats=1, trials=18)).traces.values()
    assert twice.seconds.tolist() == plain.seconds.tolist()
    assert twice.seconds[:9].tolist() == once.seconds.tolist()
    assert (twice.trials, len(twice.seconds), once.trials) == (9, 18, 9)
    assert (twice.costs * 2).tolist() == plain.costs.tolist()
    saved, _ = comparison.saved().traces.values()  # that of random with 18 trials is another
    assert saved.ended.tolist() == twice.ended.tolist()


def test_a_multiplier_makes_a_run_as_long_by_a_slower_clock(make: Make) -> None:
    comparison = make("random*3", repeats=1)
    (budget, _), (trace,) = (
        comparison.limits(comparison.problems[0]),
        done(comparison).traces.values(),
    )
    assert budget is not None
    assert trace.stopped is Stop.SECONDS
    assert budget - 4 / 3 < trace.ended[-1] <= budget
    assert trace.costs.max() == 1.0, "of 3 s"


def test_what_is_saved_is_not_repeated(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    first = done(make("random", repeats=2))
    comparison = make("random", repeats=3)
    saved = comparison.saved()
    assert len(saved.traces) == 2
    told: list[tuple[int, str]] = []
    comparison.go(saved, lambda results, words, share: told.append((len(results.traces), words)))
    assert told == [(3, "one/gpu, random, repeat 3")]
    for run, trace in first.traces.items():
        assert saved.traces[run].ended.tolist() == trace.ended.tolist(), "its thinking, too"
    monkeypatch.setattr(compare_module, "Pool", None)  # so that it would fail
    with pytest.raises(TypeError):
        done(make("random", repeats=4))


def test_what_is_forgotten_is_what_would_be_done(make: Make, tmp_path: Path) -> None:
    done(make("random", "grid", repeats=2))
    make("random", repeats=1, seconds=9.0).forget()
    assert len(make("random", repeats=2).saved().traces) == 1, "of the second repeat"
    assert len(make("grid", repeats=2).saved().traces) == 2


def test_runs_with_other_limits_and_seeds_are_kept_beside_each_other(make: Make) -> None:
    settings: list[dict[str, Any]] = [{"trials": 9}, {"trials": 12}, {"trials": 9, "seed": 1}]
    first, *_ = [done(make("random", repeats=1, **each)) for each in settings]
    assert [len(make("random", repeats=1, **each).saved().traces) for each in settings] == [1, 1, 1]
    ((run, trace),) = first.traces.items()
    kept = make("random", repeats=1, trials=9).kept
    kept.path(run).rename(kept._path_of_old(run))
    found = kept.load(run)
    assert found is not None
    assert found.seconds.tolist() == trace.seconds.tolist()
    kept.save(run, found)
    assert kept.path(run).exists()
    assert not kept._path_of_old(run).exists()
    make("random", repeats=1, trials=500).forget()
    assert not list(kept.folder.iterdir())


def test_a_changed_setting_starts_those_runs_anew(make: Make, tmp_path: Path) -> None:
    done(make("random", "genetic:population=8", repeats=1))
    assert len(make("random", "genetic:population=8", repeats=1).saved().traces) == 2
    assert len(make("random", "genetic:population=9", repeats=1).saved().traces) == 1
    assert not make("random", repeats=1, seconds=9.0).saved().traces
    assert not make("random", repeats=1, seed=1).saved().traces
    record(tmp_path, kept=lambda config: config["b"] != 1)
    assert not make("random", repeats=1).saved().traces, "the record has changed"


@pytest.mark.usefixtures("_faulty")
@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("raise", "ValueError: no parents (faulty_tuner.py:37)"),
        ("die", "its process is gone: native code failed, or memory ran out"),
    ],
)
def test_a_run_that_crashes_does_not_stop_the_rest(make: Make, way: str, why: str) -> None:
    comparison = make(f"faulty:way={way}", "random", repeats=4)
    results = done(comparison)
    (problem,), (faulty, random) = comparison.problems, comparison.tuners
    assert len(results.of(problem, faulty)) == 2
    assert len(results.of(problem, random)) == 4
    crashes = results.crashed(problem, faulty)
    assert sorted(crash.run.repeat for crash in crashes) == [1, 3]
    assert {crash.why for crash in results.crashes} == {why}
    again = comparison.saved()
    assert len(again.traces) == 6
    assert len(done(comparison, again).crashes) == 2, "crashed runs are tried again"


@pytest.mark.usefixtures("_faulty")
def test_a_tuner_that_cannot_search_is_refused_before_anything_runs(make: Make) -> None:
    with pytest.raises(UsageError) as caught:
        make("random", "faulty:way=refuse")
    assert str(caught.value) == (
        "tuner 'faulty:way=refuse' cannot search one/gpu: parameter 'a' has no neighbours"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"repeats": 0}, "repeats must be 1 or more, not 0"),
        ({"workers": 0}, "workers must be 1 or more, not 0"),
        ({"seed": -1}, "seed must be 0 or more, not -1"),
        ({"seconds": 0.0}, "seconds must be positive"),
        ({"trials": -3}, "trials must be positive"),
    ],
)
def test_settings_that_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CompareSettings(**settings)


def test_a_folder_that_cannot_be_written_to_ends_it(make: Make, tmp_path: Path) -> None:
    comparison = make("random")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "runs").write_text("")
    with pytest.raises(TunesmithError, match=r"runs.* is not a folder"):
        done(comparison)


def test_traces_that_cannot_be_saved_end_it(make: Make, tmp_path: Path) -> None:
    comparison = make("random", repeats=1)
    (run,) = comparison.runs()
    comparison.kept.path(run).mkdir(parents=True)
    with pytest.raises(TunesmithError, match=r"cannot write .*is a directory"):
        done(comparison)


# -- measured workloads ---------------------------------------------------------------------------


def measured(monkeypatch: pytest.MonkeyPatch, answers: list[Any]) -> list[tuple[Any, ...]]:
    """Have runs of workloads give these answers, in turn; the calls that were made."""
    calls = []

    def answer(task: Task, tuner: Any, budget: Budget, *, seed: int, **_: Any) -> Trace:
        calls.append((task.operator.name, tuner.name, budget.seconds, seed))
        value = answers.pop(0)
        if isinstance(value, BaseException):
            raise value
        split = {"search": 1.0, "build": 5.0, "run": 4.0, "idle": 0.0}
        return Trace.of([], [], split, Stop.SECONDS, best=value)

    monkeypatch.setattr(compare_module, "measure_run", answer)
    monkeypatch.setattr(MeasuredProblem, "views", lambda self: [])
    return calls


def test_workloads_are_measured_one_after_the_other(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = measured(monkeypatch, [1e-3, ValueError("no"), 2e-3, 3e-3])
    comparison = make("random", "grid", problems=["matmul.512"], repeats=2, seconds=10.0, seed=7)
    results = done(comparison)
    assert calls == [
        *(("matmul", "random", 10.0, 7), ("matmul", "grid", 10.0, 7)),
        *(("matmul", "random", 10.0, 8), ("matmul", "grid", 10.0, 8)),
    ]
    assert [trace.found for trace in results.traces.values()] == [1e-3, 2e-3, 3e-3]
    ((crash,), saved) = results.crashes, comparison.saved()
    assert crash.why.startswith("ValueError: no (test_compare.py:")
    assert len(saved.traces) == 3


def test_a_multiplier_gives_measured_runs_more_seconds(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = measured(monkeypatch, [1e-3, 1e-3])
    results = done(make("random*2", "grid", problems=["matmul.512"], repeats=1, seconds=10.0))
    assert [(name, seconds) for _, name, seconds, _ in calls] == [("random", 20.0), ("grid", 10.0)]
    twice, once = results.traces.values()
    assert (twice.time["build"], once.time["build"]) == (2.5, 5.0)


def test_ctrl_c_in_a_measured_run_keeps_those_before(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(monkeypatch, [1e-3, KeyboardInterrupt()])
    comparison = make("random", problems=["matmul.512"], repeats=3, trials=9)
    results = comparison.saved()
    with pytest.raises(KeyboardInterrupt):
        done(comparison, results)
    assert len(results.traces) == len(comparison.saved().traces) == 1


def test_a_store_that_fails_ends_it(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    measured(monkeypatch, [StoreError("the disk is full")])
    with pytest.raises(StoreError, match="the disk is full"):
        done(make("random", problems=["matmul.512"], trials=9))


def test_a_run_that_cannot_be_saved_is_no_crash(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(monkeypatch, [1e-3])
    comparison = make("random", problems=["matmul.512"], repeats=2, trials=9)

    def full(*_: object) -> None:
        raise TunesmithError("the disk is full")

    monkeypatch.setattr(comparison.kept, "save", full)
    results = comparison.saved()
    with pytest.raises(TunesmithError, match="the disk is full"):
        done(comparison, results)
    assert not results.crashes


def test_the_sketches_of_a_workload_are_part_of_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    before = MeasuredProblem("matmul.512").identity
    assert "cpu_gemm" in before["sketches"]
    assert MeasuredProblem("matmul.512").identity == before
    sketch = sketch_for(workload("matmul.512"), Target(), "cpu_gemm")
    monkeypatch.setattr(type(sketch), "version", sketch.version + 1)
    assert MeasuredProblem("matmul.512").identity != before


def test_a_workload_needs_a_limit(make: Make) -> None:
    with pytest.raises(UsageError, match=r"matmul\.512 is measured: give it --seconds or --trials"):
        make("random", problems=["matmul.512"])


def test_a_measured_run_gives_a_trace(tmp_path: Path) -> None:
    task, store = Task(matmul(m=16, n=16, k=16)), str(tmp_path / "tuning.db")
    shares: list[float] = []
    trace = measure_run(task, Random(), Budget(trials=6), seed=0, store=store, watch=shares.append)
    assert trace.trials == 6
    assert (np.diff(trace.ended) >= 0).all()
    assert 0 < trace.ended[-1] < 600
    assert trace.outcomes[0] == Outcome.NO_ERROR.value, "the default"
    assert (trace.costs > 0).all()
    assert 0 < trace.found < math.inf
    assert trace.time["build"] > 0
    assert shares[-1] == 1
    again = measure_run(task, Random(), Budget(trials=6), seed=0, store=store, watch=shares.append)
    assert again.trials == 6, "it starts from nothing"
    with open_store(store) as opened:
        assert len(list(opened.records(task.key))) == 12


def test_a_synthetic_space_is_searched_for_so_many_trials(make: Make) -> None:
    comparison = make("random", "auto", problems=("synthetic.mixed.1",), trials=30, repeats=2)
    results = done(comparison)
    assert results.crashes == []
    (problem,) = comparison.problems
    for tuner in comparison.tuners:
        assert [trace.trials for trace in results.of(problem, tuner).values()] == [30, 30]
    assert comparison.saved().traces.keys() == results.traces.keys()
    unlimited = make("random", problems=("synthetic.mixed.1",))
    assert unlimited.limits(problem) == (None, 250)


def test_of_a_synthetic_space_there_are_no_estimates(make: Make) -> None:
    with pytest.raises(UsageError, match=r"has no estimates for synthetic\.mixed\.1"):
        make("auto+model", problems=("synthetic.mixed.1",))
