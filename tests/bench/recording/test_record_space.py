"""Recordings of spaces: planned, measured over several runs, written, replayed."""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.scripted import Scripted, config, failing_at, line, number
from tunesmith.bench.recording import record_space
from tunesmith.bench.recording.record_space import (
    RecordingState,
    SpacePart,
    check_output,
    count_configs,
    planned,
    record,
    restricted,
    write_recording,
)
from tunesmith.budget import Budget, Stop
from tunesmith.errors import SpaceError, TunesmithError, UsageError
from tunesmith.measure.recorded.replay import ReplayProblem
from tunesmith.measurement import Outcome
from tunesmith.problem import MeasureSettings
from tunesmith.progress import Progress
from tunesmith.space import Constraint, Factorization, Ordinal, Space
from tunesmith.store import Store, open_store
from tunesmith.tuning.tune import tune

SETTINGS = MeasureSettings()


@pytest.fixture
def store() -> Iterator[Store]:
    with open_store("sqlite://") as opened:
        yield opened


def part_of(problem: Scripted, *where: str, settings: MeasureSettings = SETTINGS) -> SpacePart:
    return SpacePart(problem, restricted(problem.space, where), settings)


def recorded(
    problem: Scripted, store: Store, *where: str, sample: int | None = None, **further: Any
) -> RecordingState:
    part = part_of(problem, *where)
    return record(part, sample=sample, seed=further.pop("seed", 0), store=store, **further)


def numbers(recording: RecordingState) -> list[int]:
    return sorted(number(measurement.config) for measurement, _ in recording.trials)


# --- What is measured


def test_the_whole_space_in_random_order(store: Store) -> None:
    problem = Scripted(size=30, default=config(7), finalists=5)
    states: list[Progress] = []
    recording = recorded(problem, store, progress=states.append)
    assert recording.complete
    assert numbers(recording) == list(range(1, 31))
    tried = [number(each) for each in problem.log]
    assert sorted(tried) == list(range(1, 31)), "each once, the default among them"
    assert tried != sorted(tried)
    assert tried[0] != 7
    assert problem.rounds == [], "there is no play-off"
    assert states[-1].trials == 30
    moments = [moment for _, moment in recording.trials]
    assert moments == sorted(moments)


def test_a_part_of_the_space(store: Store) -> None:
    recording = recorded(Scripted(size=30), store, "n > 3", "n % 2 == 0 and n <= 10")
    assert numbers(recording) == [4, 6, 8, 10]
    assert recording.part.space.size == 4


def test_a_sample_is_the_same_on_every_machine(store: Store) -> None:
    recording = recorded(Scripted(size=1000), store, sample=12, seed=5)
    assert recording.complete
    assert numbers(recording) == sorted(number(each) for each in planned(line(1000), 12, 5))
    assert len(set(numbers(recording))) == 12
    assert planned(line(1000), 12, 6) != planned(line(1000), 12, 5)


def test_a_sample_of_more_than_there_is(store: Store) -> None:
    recording = recorded(Scripted(size=5), store, sample=100)
    assert (recording.complete, recording.planned) == (True, 5)


def test_failures_are_recorded_too(store: Store) -> None:
    recording = recorded(Scripted(seconds=lambda n: math.inf if n < 3 else 1.0, size=6), store)
    assert recording.complete
    assert recording.outcomes == {Outcome.RUNTIME_DEVICE: 2, Outcome.NO_ERROR: 4}


# --- Going on


def test_a_recording_goes_on_where_it_was_interrupted(store: Store) -> None:
    problem = Scripted(size=10, before=failing_at(4, KeyboardInterrupt()))
    first = recorded(problem, store)
    assert first.result.stopped is Stop.INTERRUPTED
    assert (len(first.trials), first.complete) == (4, False)
    second = recorded(problem, store)
    assert (len(second.trials), second.complete) == (10, True)
    assert len(problem.log) == len(set(problem.log)) == 10
    third = recorded(problem, store)
    assert third.trials == second.trials
    assert len(problem.log) == 10, "there was nothing left to measure"


def test_a_recording_in_pieces_of_so_many_seconds(store: Store) -> None:
    problem = Scripted(size=5)
    state = recorded(problem, store, seconds=1e-9)
    assert state.result.stopped is Stop.SECONDS
    assert not state.complete
    assert recorded(problem, store, seconds=60).complete


def test_a_sample_goes_on_with_its_own_configs(store: Store) -> None:
    """Whatever else of the space was measured for another one."""
    problem = Scripted(size=50)
    recorded(problem, store, sample=10, seed=1)
    recording = recorded(problem, store, sample=10, seed=2)
    assert numbers(recording) == sorted(number(each) for each in planned(line(50), 10, 2))
    both = {number(each) for seed in (1, 2) for each in planned(line(50), 10, seed)}
    assert len(problem.log) == len(both), "what both have is measured once"


def test_trials_of_other_runs_are_not_of_the_recording(store: Store) -> None:
    """They were measured in other ways, may be outside, and their best is no uniform sample."""
    problem = Scripted(size=10)
    tune(problem, "grid", Budget(trials=6), store=store)
    assert len(recorded(problem, store, "n > 4").trials) == 6
    assert len(problem.log) == 12


def test_other_settings_make_another_recording(store: Store) -> None:
    problem = Scripted(size=4)
    keys = {
        part_of(problem, settings=settings).key
        for settings in (
            SETTINGS,
            dataclasses.replace(SETTINGS, repeats=5),
            dataclasses.replace(SETTINGS, cut_off=9.0),
        )
    }
    assert len(keys) == 3
    same = dataclasses.replace(SETTINGS, workers=1)
    assert part_of(problem, settings=same).key == part_of(problem).key
    assert part_of(problem, "n > 1").key not in keys


def test_another_version_of_the_sketch_makes_the_trials_worthless(store: Store) -> None:
    recorded(Scripted(size=4), store)
    problem = Scripted(size=4, version=2)
    assert recorded(problem, store).complete
    assert len(problem.log) == 4


# --- How much


def test_sizes_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_space, "LARGEST", 1000)
    assert count_configs(line(1000), None) == 1000
    assert count_configs(line(1001), 10) == 10
    with pytest.raises(UsageError) as caught:
        count_configs(line(1001), None)
    assert str(caught.value) == (
        "the space has 1,001 configs, and no more than 1,000 can be recorded: measure a uniform "
        "sample (--sample 10000), or a part of the space (--where 'tile[0] <= 8')"
    )
    with pytest.raises(UsageError, match="these are 1,001 configs, and no more than 1,000"):
        count_configs(line(1001), 2000)
    with pytest.raises(UsageError, match="give a sample of 1 or more"):
        count_configs(line(10), 0)


def test_spaces_that_cannot_be_counted() -> None:
    """A constraint ties all of it together."""
    names = [f"t{i}" for i in range(8)]
    odd = Constraint.of(names, lambda *tiles: sum(tile[0] for tile in tiles) % 2 == 1, "odd")
    space = Space([Factorization(name, 1 << 12, 4) for name in names], [odd])
    with pytest.raises(UsageError, match="the space has too many configs to count"):
        count_configs(space, None)
    assert count_configs(space, 20) == 20


def test_restrictions_that_are_refused() -> None:
    space = Space([Ordinal("n", (1, 2, 3))])
    with pytest.raises(SpaceError, match="reads 'm', which is none of the parameters"):
        restricted(space, ["m < 3"])
    with pytest.raises(SpaceError, match="not Python syntax"):
        restricted(space, ["n <"])
    with pytest.raises(SpaceError, match=r"cannot be evaluated|n\[3\]"):
        restricted(space, ["n[3] < 3"])
    with pytest.raises(SpaceError, match="reads no parameter"):
        restricted(space, ["1 < 2"])
    with pytest.raises(UsageError, match="no config of the space meets all constraints"):
        count_configs(restricted(space, ["n > 3"]), None)


# --- Files


def test_a_recording_can_be_replayed(store: Store, tmp_path: Path) -> None:
    problem = Scripted(seconds=lambda n: math.inf if n == 1 else n / 1000, size=8)
    recording = recorded(problem, store, "n < 7")
    path = tmp_path / "here.json.gz"
    write_recording(path, recording)
    replay = ReplayProblem(path)
    assert replay.space == recording.part.space
    assert replay.complete
    assert sorted(replay.seconds.tolist()) == pytest.approx(
        [0.002, 0.003, 0.004, 0.005, 0.006, math.inf]
    )
    result = tune(replay, "random")
    assert result.best is not None
    assert result.best.config == config(2)
    metadata = json.loads(gzip.decompress(path.read_bytes()))["metadata"]
    assert metadata["task"] == "scripted"
    assert metadata["sketch"] == {"name": "line", "version": 1}
    assert (metadata["configs"], metadata["sample"], metadata["seed"]) == (6, None, 0)
    assert (metadata["where"], metadata["size"], metadata["whole_size"]) == (["n < 7"], 6, 8)
    assert metadata["settings"]["repeats"] == 3
    assert metadata["machine"]["cores"] >= 1
    assert "tunesmith" in metadata["versions"]


def test_a_sample_is_a_sparse_record(store: Store, tmp_path: Path) -> None:
    write_recording(tmp_path / "a.json", recorded(Scripted(size=100), store, sample=30))
    replay = ReplayProblem(tmp_path / "a.json")
    assert not replay.complete
    assert tune(replay, "random").trials == 30


def test_a_recording_of_failures_is_not_written(store: Store, tmp_path: Path) -> None:
    recording = recorded(Scripted(seconds=lambda n: math.inf, size=3), store)
    with pytest.raises(TunesmithError, match=r"every config failed \(RUNTIME_DEVICE\)"):
        write_recording(tmp_path / "a.json", recording)
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_left_alone(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"
    problem = Scripted(size=5)
    part = part_of(problem)
    check_output(path, part)
    write_recording(path, recorded(problem, store))
    check_output(path, part)
    other = part_of(problem, "n < 5")
    with pytest.raises(UsageError, match=r"space\.T1\.json is another space: name a file in"):
        check_output(path, other)
    again = part_of(problem, settings=dataclasses.replace(SETTINGS, repeats=9))
    with pytest.raises(UsageError, match=r"a\.json is another recording: name a file in"):
        check_output(path, again)
    check_output(path.with_name("b.json"), again)
    with pytest.raises(UsageError, match="a T4 file is called"):
        check_output(tmp_path / "a.txt", part)
    path.write_text("{}")
    with pytest.raises(UsageError, match=r"a\.json: the file lacks 'schema_version'"):
        check_output(path, part)
