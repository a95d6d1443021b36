"""Runs of searches on recorded spaces, by a simulated clock, and the files of their traces."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.bench.compare import runs
from tests.bench.compare.records import OPTIMUM, SPACE, record, seconds
from tunesmith.bench.compare import simulated
from tunesmith.bench.compare.simulated import RecordedSpace, simulate
from tunesmith.bench.compare.simulated_trace import Trace, load_trace, save_trace
from tunesmith.budget import Stop
from tunesmith.errors import TunesmithError
from tunesmith.measure.recorded.recording import load_recording
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.space import Config, Space
from tunesmith.testing.trials import measured
from tunesmith.tuners import Genetic, Grid, Random, Search, Tuner

SIZE = 144


@pytest.fixture
def recorded(tmp_path: Path) -> RecordedSpace:
    return RecordedSpace(load_recording(record(tmp_path)))


def frozen() -> float:
    """The clock of a tuner that thinks in no time."""
    return 0.0


def ticking(step: float) -> Callable[[], float]:
    """A clock by which every piece of thinking takes so many seconds: it is read twice in each."""
    reads = itertools.count()
    return lambda: step * next(reads)


def test_the_clock_moves_by_what_trials_are_recorded_to_cost(recorded: RecordedSpace) -> None:
    trace = simulate(Grid(), recorded, 0, trials=14, clock=frozen)
    # The first twelve have a = 0 and fail after half a second.
    assert trace.ended.tolist() == [*(0.5 * n for n in range(1, 13)), 9.0, 12.0]
    assert trace.stopped is Stop.TRIALS
    assert [Outcome(code) for code in trace.outcomes[[0, 13]]] == [
        Outcome.COMPILE_DEVICE,
        Outcome.NO_ERROR,
    ]
    assert np.isinf(trace.seconds[:12]).all()
    assert trace.seconds[12] == pytest.approx(seconds(Config({"a": 1, "b": 0})))
    assert trace.costs.tolist() == [0.5] * 12 + [3.0] * 2
    assert trace.time == {"search": 0.0, "build": 10.0, "run": 2.0, "record": 0.0, "idle": 0.0}


def test_the_clock_moves_by_the_tuners_thinking(recorded: RecordedSpace) -> None:
    trace = simulate(Grid(), recorded, 0, trials=2, clock=ticking(0.1))
    # Starting and proposing come before the first trial, observing and proposing before the next.
    assert trace.ended.tolist() == pytest.approx([0.7, 1.4])
    assert trace.time["search"] == pytest.approx(0.5)


def test_a_trial_that_would_end_too_late_does_not_count(recorded: RecordedSpace) -> None:
    trace = simulate(Grid(), recorded, 0, seconds=11.9, clock=frozen)
    assert trace.trials == 13
    assert trace.stopped is Stop.SECONDS
    assert simulate(Grid(), recorded, 0, seconds=12.0, clock=frozen).trials == 14


def test_thinking_alone_uses_up_the_time(recorded: RecordedSpace) -> None:
    trace = simulate(Grid(), recorded, 0, seconds=5.0, clock=ticking(2.0))
    assert trace.trials == 1
    assert trace.stopped is Stop.SECONDS


def test_a_run_ends_with_its_space(recorded: RecordedSpace) -> None:
    trace = simulate(Genetic(population=8), recorded, 3, clock=frozen)
    assert trace.trials == SIZE
    assert trace.stopped is Stop.EXHAUSTED
    assert trace.found == pytest.approx(OPTIMUM)


def test_a_sparse_record(tmp_path: Path) -> None:
    path = record(tmp_path, kept=lambda config: config["b"] == 4)
    recorded = RecordedSpace(load_recording(path))
    trace = simulate(Random(), recorded, 0, clock=frozen)
    assert trace.trials == recorded.count == 12
    assert trace.stopped is Stop.EXHAUSTED
    assert trace.ended[-1] == 11 * 3.0 + 0.5, "what is not on record costs nothing"


def test_a_search_that_meets_nothing_on_record_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulated, "MOST_UNKNOWN", 20)
    path = record(tmp_path, kept=lambda config: config["a"] in (1, 11))
    trace = simulate(Grid(), RecordedSpace(load_recording(path)), 0, clock=frozen)
    assert trace.trials == 12, "a = 0 was never measured, a = 1 was, and then a long gap follows"
    assert trace.stopped is Stop.EXHAUSTED


def test_the_same_seed_makes_the_same_run(recorded: RecordedSpace) -> None:
    def run(seed: int) -> list[float]:
        trace = simulate(Genetic(population=8), recorded, seed, trials=40, clock=frozen)
        return [float(value) for value in trace.seconds]

    assert run(1) == run(1)
    assert run(1) != run(2)


@dataclass(frozen=True)
class Counting(Tuner):
    """Counts the space, which keeps its size."""

    name: ClassVar[str] = "counting"
    found: ClassVar[list[bool]] = []

    def start(self, space: Space, seed: int) -> Search:
        self.found.append("size" in vars(space))
        assert space == SPACE
        assert space.size == SIZE
        return Random().start(space, seed)


def test_what_one_run_has_counted_is_no_present_to_the_next(recorded: RecordedSpace) -> None:
    for seed in range(3):
        simulate(Counting(), recorded, seed, trials=3)
    assert Counting.found == [False] * 3


def test_real_thinking_is_counted(recorded: RecordedSpace) -> None:
    trace = simulate(Genetic(population=8), recorded, 0, trials=100)
    assert 0 < trace.time["search"] < 3
    assert trace.ended[-1] == pytest.approx(trace.costs.sum() + trace.time["search"], abs=0.1)


# -- traces ---------------------------------------------------------------------------------------


def some_trace() -> Trace:
    config = Config({"a": 1, "b": 1})
    times = (math.inf, 3.0, 5.0, 2.0)
    measurements = [
        Measurement(config, Outcome.NO_ERROR, (time,), 1.0, 0.5)
        if math.isfinite(time)
        else Measurement(config, Outcome.RUN_TIMEOUT, (), 1.0, 9.0)
        for time in times
    ]
    split = {"search": 0.5, "build": 4.0, "run": 10.5, "idle": 0.0}
    return Trace.of(measurements, (10.0, 12.0, 13.5, 15.0), split, Stop.SECONDS)


def test_the_best_so_far() -> None:
    trace = some_trace()
    assert trace.best.tolist() == [math.inf, 3, 3, 2]
    assert trace.best_at(np.array([9.9, 10.0, 12.0, 14.9, 15.0, 99.0])).tolist() == [
        *(math.inf, math.inf, 3, 3, 2, 2)
    ]
    assert trace.best_after(np.array([0, 1, 2, 4, 9])).tolist() == [math.inf, math.inf, 3, 2, 2]
    assert trace.valid.tolist() == [False, True, True, True]
    assert (trace.trials, trace.found) == (4, 2.0)


def again(found: float) -> Trace:
    """Trials of 3, 5, 2 and 4 s, the best of which is measured again."""
    config = Config({"a": 1, "b": 1})
    measurements = [Measurement(config, Outcome.NO_ERROR, (time,)) for time in (3.0, 5.0, 2.0, 4.0)]
    return Trace.of(measurements, (1.0, 2.0, 3.0, 4.0), {}, Stop.TRIALS, best=found)


def test_the_best_so_far_ends_with_what_was_measured_again() -> None:
    assert again(2.0).best.tolist() == [3, 3, 2, 2]
    assert again(2.5).best.tolist() == [3.75, 3.75, 2.5, 2.5], "what was slow before still is"
    assert again(1.5).best.tolist() == [2.25, 2.25, 1.5, 1.5]
    assert again(1.5).best_at(np.array([2.9, 3.0])).tolist() == [2.25, 1.5]


def test_a_trial_that_was_only_lucky_makes_the_others_no_slower() -> None:
    """The best of all is the third config, by its own trial and when it was measured again."""
    configs = [Config({"a": number}) for number in range(4)]
    took = (4.0, 1.0, 2.0, 3.0)
    trials = [measured(config, each) for config, each in zip(configs, took, strict=True)]
    best = Candidate(configs[2])
    trace = Trace.of(trials, [1.0, 2.0, 3.0, 4.0], {}, Stop.TRIALS, best=2.2, candidate=best)
    assert trace.brief == 2.0
    np.testing.assert_allclose(trace.best, [4.4, 2.2, 2.2, 2.2])
    unknown = replace(trace, brief=None)
    np.testing.assert_allclose(unknown.best, [8.8, 2.2, 2.2, 2.2])


def test_a_slowed_run_has_half_the_trials_in_half_the_time() -> None:
    trace = some_trace().slowed(2)
    assert trace.ended.tolist() == [5.0, 6.0, 6.75, 7.5]
    assert trace.costs.tolist() == [5.0, 0.75, 0.75, 0.75]
    assert trace.time == {"search": 0.25, "build": 2.0, "run": 5.25, "idle": 0.0}
    assert (trace.trials, trace.found) == (2, 2.0)
    assert trace.best_after(np.array([0, 1, 2, 9])).tolist() == [math.inf, 3, 2, 2]
    assert trace.best_at(np.array([5.9, 6.0, 7.5])).tolist() == [math.inf, 3, 2]
    assert some_trace().slowed(3).trials == 2, "the last has one config"
    assert some_trace().slowed(1).ended.tolist() == some_trace().ended.tolist()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 9])
def test_the_first_configs_of_a_run_say_what_it_had_found_by_then(count: int) -> None:
    """Also where the best was slower when it was measured again."""
    whole = runs.trace(math.inf, 4e-3, 2e-3, 3e-3, 1e-3, found=1.3e-3)
    first = whole.first(count)
    assert first.trials == min(count, 5)
    assert first.best.tolist() == pytest.approx(whole.best[:count].tolist())
    assert first.found == pytest.approx(whole.best[:count].min(initial=math.inf))
    assert len(first.outcomes) == len(first.costs) == len(first.ended) == first.trials
    assert first.time["search"] == pytest.approx(whole.time["search"] * first.trials / 5)
    assert math.isinf(runs.trace(math.inf, math.inf).first(1).found)


def test_the_first_configs_are_in_proportion_to_the_trial_that_was_measured_again() -> None:
    """Not to the fastest: 2 ms was measured again and took 3, so 4 ms count as 6."""
    whole = replace(runs.trace(4e-3, 2e-3, 1e-3, found=3e-3), brief=2e-3)
    assert whole.best.tolist() == pytest.approx([6e-3, 3e-3, 3e-3])
    for count in (1, 2):
        first = whole.first(count)
        assert first.best.tolist() == pytest.approx(whole.best[:count].tolist())
        assert first.found == pytest.approx([6e-3, 3e-3][count - 1])


def test_what_was_measured_again_counts_in_the_end() -> None:
    trace = Trace.of([], [], {}, Stop.TRIALS, best=2.5)
    assert trace.found == 2.5
    assert Trace.of([], [], {}, Stop.TRIALS).found == math.inf


def test_a_trace_is_kept_in_a_file(tmp_path: Path) -> None:
    path, trace = tmp_path / "run.npz", replace(some_trace(), version="1.2+abc")
    trace = replace(trace, libraries={"apache-tvm": "0.27"})
    save_trace(path, trace, "it")
    found = load_trace(path, "it")
    assert found is not None
    assert found.version == found.unslowed.version == "1.2+abc"
    assert found.libraries == {"apache-tvm": "0.27"}
    for name in ("ended", "seconds", "outcomes", "costs"):
        assert getattr(found, name).tolist() == getattr(trace, name).tolist()
        assert getattr(found, name).dtype == getattr(trace, name).dtype
    assert (found.time, found.stopped, found.found) == (trace.time, trace.stopped, 2.0)
    assert load_trace(path, "another") is None
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


@pytest.mark.parametrize("best", [{"sketch": "x"}, {"sketch": "x", "config": [1]}, {"config": {}}])
def test_a_broken_best_config_is_no_trace(tmp_path: Path, best: dict[str, Any]) -> None:
    path = tmp_path / "run.npz"
    save_trace(path, some_trace(), "it")
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    about = {**json.loads(str(arrays.pop("about"))), "best": best}
    np.savez(path, about=np.array(json.dumps(about)), **arrays)
    assert load_trace(path, "it") is None


def test_a_run_that_found_nothing_is_kept(tmp_path: Path) -> None:
    save_trace(tmp_path / "run.npz", Trace.of([], [], {}, Stop.EXHAUSTED), "it")
    found = load_trace(tmp_path / "run.npz", "it")
    assert found is not None
    assert (found.trials, found.found) == (0, math.inf)


@pytest.mark.parametrize("contents", [b"", b"PK\x03\x04", b"[]", None])
def test_what_is_no_trace_is_none(tmp_path: Path, contents: bytes | None) -> None:
    path = tmp_path / "run.npz"
    if contents is None:
        np.savez(path, about=np.array("{}"))
    else:
        path.write_bytes(contents)
    assert load_trace(path, "it") is None
    assert load_trace(tmp_path / "gone.npz", "it") is None


def test_a_trace_that_was_cut_off_is_none(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    save_trace(path, some_trace(), "it")
    path.write_bytes(path.read_bytes()[:-50])
    assert load_trace(path, "it") is None


def test_a_trace_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(TunesmithError, match=r"cannot write .*no such file or directory"):
        save_trace(tmp_path / "gone" / "run.npz", some_trace(), "it")
