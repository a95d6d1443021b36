"""What is known of a recorded space beside its times: programs, and models of other spaces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.bench.compare.records import record
from tunesmith.bench.compare import recorded_task
from tunesmith.bench.compare.compare import Comparison
from tunesmith.bench.compare.kept_runs import _seen
from tunesmith.bench.compare.problems import RecordedProblem
from tunesmith.bench.compare.process import run_job
from tunesmith.bench.compare.recorded_task import (
    MadePrograms,
    features_of,
    learned_from,
    recorded_problem,
)
from tunesmith.bench.compare.runs import CompareSettings, Run
from tunesmith.bench.compare.simulated_trace import load_trace
from tunesmith.bench.compare.tuners import choose_tuners
from tunesmith.errors import UsageError
from tunesmith.features.kinds import FeatureKind
from tunesmith.measure.recorded.recording import load_recording
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.measure.task.program_features import side_by_side
from tunesmith.tuners.view import OfConfigs

LAYERS = Path(__file__).parents[3] / "data" / "replay" / "layers"
C3, C5, C8 = (LAYERS / name / "zen5.json.gz" for name in ("C3", "C5", "C8"))


def test_the_task_of_a_recording() -> None:
    problem = recorded_problem(C8)
    assert problem is not None
    assert problem.task.operator.label.startswith("conv2d(ci=128, h=28, w=28, co=256, kernel=1x1")
    assert problem.task.target.mcpu == "znver5"


def test_the_task_of_a_gpus_recording() -> None:
    problem = recorded_problem(LAYERS.parent / "template" / "C7" / "h200.json.gz")
    assert problem is not None
    target = problem.task.target
    assert (target.kind, target.arch, problem.sketch.name) == ("cuda", "sm_90", "cuda_conv2d_opevo")


def test_features_of_its_programs() -> None:
    configs = load_recording(C8).configs[:3]
    features = features_of(C8)
    found = features(configs, "context-relation")
    assert found is not None
    assert found.shape == (3, 200)
    assert np.isfinite(found).all()
    assert features(configs, "configuration") is None


def test_a_tuner_that_sees_estimates_has_them_among_the_features() -> None:
    configs = load_recording(C8).configs[:3]
    problem = recorded_problem(C8)
    assert problem is not None
    found = features_of(C8, "estimates")(configs, "context-relation")
    assert found is not None
    np.testing.assert_allclose(found[:, 200], np.log2(problem.estimates(configs)), rtol=1e-6)


def test_programs_count_once_in_each_run() -> None:
    """Though the second run finds them made."""
    configs = load_recording(C8).configs[3:6]
    problem = recorded_problem(C8)
    assert problem is not None
    for _ in range(2):
        made = MadePrograms()
        features = features_of(C8, made=made)
        features(configs[:1], "configuration")
        assert made.seconds == 0.0
        features(configs[:2], "context-relation")
        features(configs, "context-relation")
        features(configs[:2], "loop-context")
        assert made.seconds == pytest.approx(problem.features_cost(configs))
        assert made.seconds > 0.0


def test_programs_that_a_model_of_others_looks_at_count(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xgboost", reason="XGBoost is not installed")
    monkeypatch.setattr("tunesmith.bench.compare.recorded_task.TAUGHT", 20)
    configs = load_recording(C8).configs[6:8]
    for kind, counts in (("configuration", False), ("context-relation", True)):
        made = MadePrograms()
        log_speeds = learned_from([C3, C5], C8, kind, 0, made)  # type: ignore[arg-type]
        assert made.seconds == 0.0, "learning comes before the run"
        log_speeds(configs)
        assert (made.seconds > 0.0) is counts


def test_a_run_that_looks_at_programs_thinks_for_as_long_as_they_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xgboost", reason="XGBoost is not installed")
    monkeypatch.setattr(TaskProblem, "features_cost", lambda self, configs: 500.0 * len(configs))
    job = {
        "tuner": "autotvm",
        "options": {"batch": 4, "chains": 4, "steps": 4, "features": "context-relation"},
        "record": str(C8),
        "seed": 0,
        "seconds": None,
        "trials": 6,
        "path": str(tmp_path / "run.npz"),
        "identity": "this",
    }
    assert run_job(job) == {"done": True}
    trace = load_trace(tmp_path / "run.npz", "this")
    assert trace is not None
    assert trace.time["search"] > 500.0 * 4, "of the first batch, at least"


def test_as_many_processes_make_programs_as_there_are_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tunesmith.measure.task.program_features.usable_cores", lambda: 8)
    assert [side_by_side(count) for count in (0, 1, 16, 17, 64, 1000)] == [1, 1, 1, 2, 4, 8]


@pytest.fixture
def nothing_seen() -> Iterator[None]:
    """What estimates were is forgotten before and after."""
    _seen.cache_clear()
    yield
    _seen.cache_clear()


@pytest.mark.usefixtures("nothing_seen")
def test_a_run_that_saw_other_estimates_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = RecordedProblem("C8", C8)
    tuners = choose_tuners(["random", "random+estimates"])
    kept = Comparison([problem], tuners, CompareSettings(1, trials=4), tmp_path).kept

    def identities() -> list[str]:
        _seen.cache_clear()
        return [kept.identity(Run(problem, each, 0)) for each in tuners]

    before = identities()
    assert identities() == before

    def other(*_: object) -> OfConfigs:
        return lambda configs: np.ones(len(configs))

    monkeypatch.setattr(recorded_task, "estimates_seen", other)
    after = identities()
    assert after[0] == before[0]
    assert after[1] != before[1]


@pytest.mark.parametrize("kind", ["configuration", "context-relation"])
def test_a_model_of_other_layers_has_the_order_about_right(
    kind: FeatureKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xgboost", reason="XGBoost is not installed")
    monkeypatch.setattr("tunesmith.bench.compare.recorded_task.TAUGHT", 60)
    log_speeds = learned_from([C3, C5], C8, kind, 0)
    recording = load_recording(C8)
    some = np.random.default_rng(1).choice(len(recording.configs), 100, replace=False)
    said = log_speeds([recording.configs[place] for place in some])
    assert said is not None
    ranks = [np.argsort(np.argsort(each)) for each in (said, -recording.seconds[some])]
    assert np.corrcoef(ranks[0], ranks[1])[0, 1] > 0.25


def test_a_recording_without_a_sketch(tmp_path: Path) -> None:
    assert recorded_problem(record(tmp_path)) is None
    with pytest.raises(UsageError, match="cannot be read: no such file"):
        recorded_problem(tmp_path / "none.json.gz")
