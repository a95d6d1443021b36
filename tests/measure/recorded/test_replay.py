"""Replay: a record answers in place of hardware, and a clock is simulated."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.measure.recorded.t4_files import CONFIGS, SHARED, T1, recorded, write
from tunesmith.budget import Budget, Stop
from tunesmith.errors import SpaceError, TunesmithError, UsageError
from tunesmith.measure.recorded import replay
from tunesmith.measure.recorded.replay import ReplayProblem
from tunesmith.measurement import Outcome
from tunesmith.problem import Measurer, MeasureSettings
from tunesmith.progress import Progress
from tunesmith.space import Config, Ordinal, Space, read_t1
from tunesmith.store import open_store
from tunesmith.testing.measurer import MeasurerConformance
from tunesmith.testing.trials import candidates
from tunesmith.tuning.tune import tune


def config(block: int, unroll: int = 0) -> Config:
    return Config({"block": block, "unroll": unroll})


def failing_at(block: int, time: str = "RuntimeFailedConfig") -> Any:
    return lambda b, unroll: time if b == block else b / 8 + unroll


class TestReplayMeasurer(MeasurerConformance):
    healthy = candidates([config(16), config(16, 1), config(32)])
    failing = candidates([config(64)])
    folder: ClassVar[Path]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _files(cls, tmp_path_factory: pytest.TempPathFactory) -> None:
        cls.folder = tmp_path_factory.mktemp("record")
        recorded(cls.folder, failing_at(64))

    @classmethod
    def make_measurer(cls) -> Measurer:
        return ReplayProblem(cls.folder / "A100.json.gz").measurer(MeasureSettings())


# --- The problem


def test_what_it_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    problem = ReplayProblem(recorded(folder))
    assert problem.name == "small/A100"
    assert problem.key.startswith("replay:small/A100:")
    assert problem.describe()["kind"] == "replay"
    assert problem.describe()["space"] == problem.space.to_json()
    assert (problem.flops, problem.default, problem.finalists) == (None, None, 0)
    assert (problem.complete, problem.unknown) == (True, 0)
    changed = ReplayProblem(recorded(folder, lambda block, unroll: 1.0 + unroll))
    assert changed.key != problem.key, "of another record nothing may be resumed"


def test_the_arrays_for_scores(tmp_path: Path) -> None:
    problem = ReplayProblem(recorded(tmp_path, failing_at(64)))
    assert problem.configs[4] == config(64)
    assert problem.seconds.tolist() == pytest.approx([0.002, 0.003, 0.004, 0.005, float("inf")])
    assert problem.costs.tolist() == pytest.approx([0.121, 0.124, 0.127, 0.130, 0.115])


def test_a_space_of_ones_own(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    space = Space([Ordinal("block", (16, 32, 64, 128)), Ordinal("unroll", (0, 1))])
    problem = ReplayProblem(path, space=space)
    assert problem.space is space
    assert not problem.complete
    assert ReplayProblem(path, str(tmp_path / "space.T1.json")).complete


def test_what_is_recorded_of_a_config(tmp_path: Path) -> None:
    problem = ReplayProblem(recorded(tmp_path, failing_at(64, "CompilationFailedConfig")))
    valid = problem.measurement(config(16))
    assert (valid.outcome, valid.run_seconds, valid.message) == (Outcome.NO_ERROR, (0.002,), "")
    assert [valid.build_time, valid.run_time] == pytest.approx([0.1, 0.021])
    failed = problem.measurement(config(64))
    assert (failed.outcome, failed.run_seconds) == (Outcome.COMPILE_DEVICE, ())
    assert failed.message == "recorded: the compiler failed on the device code"
    assert failed.build_time + failed.run_time == pytest.approx(0.115)


def test_a_config_that_is_not_recorded_is_not_a_failure(tmp_path: Path) -> None:
    path = recorded(tmp_path, configs=CONFIGS[:2])
    problem = ReplayProblem(path)
    with pytest.raises(UsageError) as caught:
        problem.measurement(config(32))
    assert str(caught.value) == (
        f'{{"block":32,"unroll":0}} is not among the 2 of 5 configs that {path} records: how fast '
        "it is, or whether it fails, is unknown"
    )
    with pytest.raises(SpaceError, match="has no value 17"):
        problem.measurement(config(17))


def test_pickling_sends_the_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(tmp_path)
    monkeypatch.chdir(tmp_path)
    problem = ReplayProblem("A100.json.gz")
    data = pickle.dumps(problem)
    assert len(data) < 1000
    monkeypatch.chdir("/")
    again = pickle.loads(data)
    assert (again.key, again.space) == (problem.key, problem.space)
    assert again.recording is problem.recording, "a process reads a file once"
    elsewhere = ReplayProblem(tmp_path / "A100.json.gz", tmp_path / "space.T1.json")
    assert pickle.loads(pickle.dumps(elsewhere)).key == problem.key
    own = ReplayProblem(tmp_path / "A100.json.gz", read_t1(tmp_path / "space.T1.json"))
    assert pickle.loads(pickle.dumps(own)).key == problem.key


# --- Runs


def test_a_run_over_the_whole_space(tmp_path: Path) -> None:
    problem = ReplayProblem(recorded(tmp_path, failing_at(16)))
    result = tune(problem, "random")
    assert result.stopped is Stop.EXHAUSTED
    assert result.outcomes == {Outcome.NO_ERROR: 3, Outcome.RUNTIME_DEVICE: 2}
    assert result.best is not None
    assert (result.best.config, result.best.seconds) == (config(32), 0.004)
    time = result.time
    assert time["build"] == pytest.approx(0.5)
    assert time["run"] == pytest.approx(sum(problem.costs) - 0.5)
    assert time["total"] == pytest.approx(time["search"] + sum(problem.costs))
    assert time["idle"] == pytest.approx(0.0)


def test_a_budget_of_simulated_seconds(tmp_path: Path) -> None:
    """A trial costs a little more than half a minute, and so the twentieth ends the run."""
    values = tuple(range(1, 101))
    rows = [(block, 0) for block in values]
    path = recorded(tmp_path, lambda block, unroll: 10_000.0 + block, configs=rows)
    problem = ReplayProblem(path, Space([Ordinal("block", values), Ordinal("unroll", (0,))]))
    seen: list[Progress] = []
    result = tune(problem, "genetic", Budget(seconds=600), progress=seen.append)
    assert result.stopped is Stop.SECONDS
    assert result.trials == 20
    assert 600 <= result.time["total"] < 640
    assert result.time["run"] > 590
    assert result.time["idle"] == pytest.approx(0.0)
    assert [state.trials for state in seen] == list(range(1, 21))
    assert [state.elapsed // 30 for state in seen] == list(range(1, 21))


def test_a_run_goes_on_from_a_store(tmp_path: Path) -> None:
    problem = ReplayProblem(recorded(tmp_path))
    with open_store(tmp_path / "tuning.db") as store:
        tune(problem, "grid", Budget(trials=2), store=store)
        result = tune(problem, "grid", store=store)
    assert (result.trials, result.resumed) == (5, 2)
    assert result.time["build"] == pytest.approx(0.3), "of this run alone"


def test_the_same_seed_gives_the_same_run(tmp_path: Path) -> None:
    problem = ReplayProblem(recorded(tmp_path))
    times = [tune(problem, "random", Budget(trials=3), seed=seed).time["run"] for seed in (4, 4)]
    assert times[0] == times[1]


# --- Sparse records


def test_unknown_configs_are_no_trials(tmp_path: Path) -> None:
    problem = ReplayProblem(recorded(tmp_path, configs=[(16, 1), (64, 0)]))
    assert not problem.complete
    with open_store("sqlite://") as store:
        result = tune(problem, "grid", store=store)
        stored = [record.config for record in store.records(problem.key)]
    assert result.outcomes == {Outcome.NO_ERROR: 2}
    assert stored == [config(16, 1), config(64)]
    assert problem.unknown == 3, "(16, 0), (32, 0) and (32, 1) come before the last one"
    assert result.time["build"] == pytest.approx(0.2), "they cost nothing"


def test_a_run_ends_when_all_that_is_recorded_was_asked_for(tmp_path: Path) -> None:
    """Not when the other million configs were proposed as well."""
    values = tuple(range(1, 1_000_001))
    path = recorded(tmp_path, configs=[(3, 0), (5, 0), (8, 0)])
    problem = ReplayProblem(path, Space([Ordinal("block", values), Ordinal("unroll", (0,))]))
    assert problem.extent == "3 of 1,000,000 configs"
    result = tune(problem, "grid")
    assert (result.trials, result.stopped) == (3, Stop.EXHAUSTED)
    assert problem.unknown == 5


def test_a_search_that_meets_nothing_recorded_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "MOST_UNKNOWN", 30)
    values = tuple(range(1, 101))
    path = recorded(tmp_path, configs=[(99, 0)])
    problem = ReplayProblem(path, Space([Ordinal("block", values), Ordinal("unroll", (0,))]))
    with pytest.raises(TunesmithError) as caught:
        tune(problem, "grid")
    assert str(caught.value) == (
        f"{path} records 1 of 100 configs, and none of the last 30 that were proposed: record "
        "more, or search a smaller space"
    )
    assert problem.unknown == 30


def test_a_measurer_alone_drops_what_is_unknown(tmp_path: Path) -> None:
    problem = ReplayProblem(recorded(tmp_path, configs=[(16, 0), (32, 0)]))
    measurer = problem.measurer(MeasureSettings())
    measurer.submit(candidates([config(16), config(64), config(32), config(64)]))
    assert [m.config for m in measurer.collect(0.0)] == [config(16)]
    assert measurer.pending == 3
    assert measurer.batch == 1
    assert [m.config for m in measurer.collect(0.0)] == [config(32)]
    assert measurer.collect(0.0) == []
    assert (measurer.pending, measurer.batch, problem.unknown) == (0, 0, 2)


# --- Published files


def test_a_published_space() -> None:
    path = SHARED / "convolution" / "A100.json.gz"
    if not path.is_file():
        pytest.skip("no published recordings in ../shared")
    problem = ReplayProblem(path)
    assert problem.complete
    result = tune(problem, "random", Budget(seconds=60), seed=1)
    assert result.stopped is Stop.SECONDS
    assert result.best is not None
    row = problem.recording.row(result.best.config)
    assert row is not None
    assert result.best.seconds == problem.seconds[row]
    rows = [problem.recording.row(each) for each in problem.configs]
    assert rows == list(range(len(problem.configs)))
    assert Counter(problem.recording.outcomes.tolist()) == {0: 4201, 4: 155, 3: 6}


def test_a_file_without_its_space(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    write(tmp_path / "space.T1.json", {**T1, "ConfigurationSpace": {}})
    with pytest.raises(SpaceError, match=r"space\.T1\.json: ConfigurationSpace lacks"):
        ReplayProblem(path)
