"""Runs on workloads, and what these learn of other workloads beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.bench.compare.records import record
from tests.bench.compare.runs import trace
from tunesmith.bench.compare import kept_runs, measured
from tunesmith.bench.compare.compare import Comparison
from tunesmith.bench.compare.problems import RecordedProblem
from tunesmith.bench.compare.runs import CompareSettings, Results
from tunesmith.bench.compare.tuners import TunerChoice, choose_tuners
from tunesmith.bench.pages.provenance import own_version
from tunesmith.bench.papers.problem import SearchProblem
from tunesmith.errors import UsageError
from tunesmith.machine import this_machine
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.operators import matmul
from tunesmith.store import Session, Store, library_versions, open_store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.testing.trials import measured as measured_in
from tunesmith.tuners import tuner

pytest.importorskip("xgboost", reason="XGBoost is not installed")


def in_turn(store: Store, problem: SearchProblem) -> list[Session]:
    """The sessions of a problem's runs, the oldest first."""
    return sorted(store.sessions(problem.tuned.key), key=lambda each: each.started)


def test_an_interrupted_run_goes_on_with_other_configs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "TRIALS", 12)
    monkeypatch.setattr(measured, "EARLIER", ("random",))
    source = SearchProblem("x", matmul(m=48, n=32, k=64), "cpu_tiled")
    store = str(tmp_path / "tuning.db")

    def interrupt(_: object, share: float) -> None:
        if share >= 0.4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measured.model_of([source], store, interrupt)
    with open_store(store) as opened:
        assert 0 < opened.count(source.tuned.key) < 12
    measured.model_of([source], store, lambda *_: None)
    with open_store(store) as opened:
        records = list(opened.records(source.tuned.key))
        seeds = [each.seed for each in opened.sessions(source.tuned.key)]
    assert len(records) == 12
    # The default alone is tried first by every run.
    assert len({record.config for record in records}) >= 11
    assert len(set(seeds)) == 2


def test_estimates_alone_need_no_other_workload(tmp_path: Path) -> None:
    other = SearchProblem("of 16", matmul(m=16, n=16, k=16), "cpu_tiled")
    problem = SearchProblem("x", matmul(m=48, n=16, k=16), "cpu_tiled", others=(other,))
    search = tuner("autotvm", batch=4)
    lines = [
        TunerChoice("estimates alone", search, transfer="estimates"),
        TunerChoice("from nothing", search),
    ]
    comparison = Comparison([problem], lines, CompareSettings(1, trials=4), tmp_path)
    results = comparison.saved()
    comparison.go(results, lambda *_: None)
    assert not results.crashes
    with open_store(tmp_path / "tuning.db") as store:
        assert [each.key for each in store.tasks()] == [problem.tuned.key]
        alone, without = in_turn(store, problem)
        tried = [
            {it.config for it in store.records(problem.tuned.key, session=each)}
            for each in (alone, without)
        ]
    said = alone.description["transfer"]
    assert (said["trials"], said["scope"]) == (0, "estimates")
    assert tried[0] != tried[1]
    saved = comparison.saved().traces
    assert {trace.version for trace in saved.values()} == {own_version()}
    assert all(trace.libraries == library_versions() for trace in saved.values())
    assert len(saved) == 2


def test_recorded_spaces_have_no_estimates_alone(tmp_path: Path) -> None:
    problem = RecordedProblem("one", record(tmp_path))
    line = TunerChoice("estimates alone", tuner("autotvm"), transfer="estimates")
    with pytest.raises(UsageError, match="'estimates alone' is for workloads: of one it has no"):
        Comparison([problem], [line], CompareSettings(1, trials=4), tmp_path / "runs")


def test_a_tuner_learns_of_other_workloads_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "TRIALS", 8)
    monkeypatch.setattr(measured, "EARLIER", ("random", "autotvm"))
    others = tuple(SearchProblem(f"of {n}", matmul(m=n, n=16, k=16), "cpu_tiled") for n in (16, 32))
    problem = SearchProblem("x", matmul(m=48, n=16, k=16), "cpu_tiled", others=others)
    search = tuner("autotvm", batch=4)
    lines = [
        TunerChoice("transfer", search, transfer="configuration"),
        TunerChoice("from nothing", search),
        TunerChoice("estimates alone", search, transfer="estimates"),
    ]
    comparison = Comparison([problem], lines, CompareSettings(1, trials=4), tmp_path)
    told: list[str] = []
    results = comparison.saved()
    comparison.go(results, lambda _, words, __: told.append(words))
    assert not results.crashes
    assert "of 16, earlier runs to learn from, 50%" in told
    with open_store(tmp_path / "tuning.db") as store:
        for other in others:
            assert len(list(store.records(other.tuned.key))) == 16
            assert {each.tuner for each in store.sessions(other.tuned.key)} == {"random", "autotvm"}
        with_model, without, _ = in_turn(store, problem)
    assert with_model.description["transfer"]["tasks"] == 2
    assert without.description["transfer"] is None
    learned_from = {run.tuner.label: each.learned_from for run, each in results.traces.items()}
    assert learned_from == {
        "transfer": (library_versions()["tunesmith"],),
        "from nothing": (),
        "estimates alone": (),
    }
    saved = {run.tuner.label: it.learned_from for run, it in comparison.saved().traces.items()}
    assert saved == learned_from, "the files of runs tell, wherever their store is"
    told.clear()
    learning = [run for run in comparison.runs() if run.tuner.label == "transfer"]
    comparison.kept.remove(learning)
    comparison.go(comparison.saved(), lambda _, words, __: told.append(words), learning)
    assert not any("learn from" in words for words in told), "they are in the store"
    before = (tmp_path / "tuning.db").read_bytes()
    comparison.forget([run for run in comparison.runs() if run not in learning])
    assert (tmp_path / "tuning.db").exists(), "nobody learned from it"
    comparison.forget()
    assert not list(tmp_path.glob("tuning.db*"))
    assert [path.read_bytes() for path in tmp_path.glob("before-*-tuning.db")] == [before]
    comparison.go(comparison.saved(), lambda _, words, __: told.append(words), learning)
    assert any("learn from" in words for words in told)


def test_others_are_learned_from_by_the_sketch_and_target_of_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "TRIALS", 8)
    monkeypatch.setattr(measured, "EARLIER", ("random",))
    source = SearchProblem("x", matmul(m=48, n=32, k=64), "cpu_tiled")
    store = str(tmp_path / "tuning.db")
    operator = source.operator
    measured.model_of([source], store, lambda *_: None)
    with open_store(store) as opened:
        for problem in (
            TaskProblem.of(Task(operator), "cpu_gemm"),
            TaskProblem.of(Task(operator, Target(cores=Target().core_count + 1)), "cpu_tiled"),
        ):
            session = opened.begin_session(
                problem.key,
                tuner="random",
                seed=0,
                description=problem.describe(),
                target=problem.task.target.to_json(),
                sketch=problem.sketch.name,
                sketch_version=problem.sketch.version,
            )
            configs = problem.space.sample_many(8, np.random.default_rng(0))
            opened.append(session, [measured_in(config, 1e-3) for config in configs])
    model, versions = measured.model_of([source], store, lambda *_: None)
    assert (set(model.sketches), model.trials, model.tasks) == ({"cpu_tiled"}, 8, 1)
    assert versions == [library_versions()["tunesmith"]]


def elsewhere(
    tmp_path: Path,
    *,
    repeats: int = 1,
    leave: bool = True,
    tuners: Sequence[str] = ("random", "genetic"),
) -> Comparison:
    problems = [SearchProblem(f"of {n}", matmul(m=n, n=16, k=16), "cpu_tiled") for n in (16, 32)]
    lines = choose_tuners(tuners)
    settings = CompareSettings(repeats, trials=3)
    return Comparison(problems, lines, settings, tmp_path, elsewhere=leave)


def test_runs_of_a_workload_are_of_one_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = elsewhere(tmp_path)
    results = first.saved()
    first.go(results, lambda *_: None)
    here = this_machine()
    assert {trace.machine["fingerprint"] for trace in results.traces.values()} == {
        here["fingerprint"]
    }
    assert results.origin()["machine"] == here
    assert results.origin()["versions"] == {**library_versions(), "tunesmith": own_version()}
    run, trace = next(iter(results.traces.items()))
    older = {**results.traces, run: replace(trace, libraries={"apache-tvm": "0.26", "numpy": "2"})}
    versions = Results(results.problems, results.tuners, older).origin()["versions"]
    assert versions["apache-tvm"] == f"0.26 or {library_versions()['apache-tvm']}"
    undated = {run: replace(trace, date="") for run, trace in results.traces.items()}
    assert Results(results.problems, results.tuners, undated).origin()["date"] == "2026-11-28"
    (run, trace), *_ = undated.items()
    undated[run] = replace(trace, date="2026-12-01")
    spans = Results(results.problems, results.tuners, undated).origin()["date"]
    assert spans.startswith("2026-11-28")
    assert spans.endswith("2026-12-01")
    assert [results.machine(problem) for problem in results.problems] == [here, here]
    with monkeypatch.context() as patched:
        newer = {**library_versions(), "apache-tvm": "999"}
        patched.setattr(kept_runs, "library_versions", lambda: newer)
        assert elsewhere(tmp_path).saved().traces == {}, "its compiler was another one"
        for run, kept in results.traces.items():
            first.kept.save(run, replace(kept, libraries={}))
        assert len(elsewhere(tmp_path).saved().traces) == 4, "those of old do not say"
        for run, kept in results.traces.items():
            first.kept.save(run, kept)
    monkeypatch.setattr(kept_runs, "this_machine", lambda: {**here, "fingerprint": "another"})
    assert len(elsewhere(tmp_path).saved().traces) == 4, "all of both are there"
    assert elsewhere(tmp_path, leave=False).saved().traces == {}
    more = elsewhere(tmp_path, tuners=("random", "genetic", "grid"))
    assert more.saved().traces == {}, "a tuner is missing that is asked for"
    of_old = [run for run in more.runs() if run.tuner.label != "grid"]
    assert len(more.saved(of_old).traces) == 4, "it is not asked for"
    run, kept = next(iter(results.traces.items()))
    first.kept.save(
        run, replace(kept, target={**kept.target, "num-cores": Target().core_count + 1})
    )
    assert {each.problem for each in elsewhere(tmp_path).saved().traces} == {first.problems[1]}
    first.kept.save(run, kept)
    assert elsewhere(tmp_path, repeats=2).saved().traces == {}, "a half of each is there"
    (lost, _, *others) = first.runs()
    first.kept.path(lost).unlink()
    again = elsewhere(tmp_path)
    left = again.saved()
    assert {run.problem for run in left.traces} == {others[0].problem}
    before = {run: trace.ended.tolist() for run, trace in left.traces.items()}
    again.go(left, lambda *_: None)
    assert len(left.traces) == 4
    assert all(left.traces[run].ended.tolist() == ended for run, ended in before.items())


def test_figures_come_from_the_machine_of_most_runs(tmp_path: Path) -> None:
    made = elsewhere(tmp_path)
    traces = {}
    other = {**this_machine(), "fingerprint": "another", "cpu": "Another"}
    for run in made.runs():
        made_there = run.problem == made.problems[0]
        traces[run] = replace(trace(1.0), machine=other if made_there else this_machine())
    both = Results(made.problems, made.tuners, traces)
    assert both.machine(made.problems[0]) == other
    for problem, most in ((made.problems[0], this_machine()), (made.problems[1], other)):
        lost = next(run for run in traces if run.problem == problem)
        fewer = {run: each for run, each in traces.items() if run != lost}
        assert Results(made.problems, made.tuners, fewer).origin()["machine"] == most
    one = Results(made.problems, made.tuners, {run: traces[made.runs()[0]] for run in traces})
    assert one.origin()["machine"] == other
