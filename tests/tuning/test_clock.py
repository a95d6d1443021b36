"""The seconds of a run, by the wall clock and by a simulated one."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from tests.scripted import Scripted, ScriptedMeasurer, config
from tunesmith.budget import Budget, Stop
from tunesmith.measurement import Candidate, Measurement
from tunesmith.problem import MeasureSettings
from tunesmith.progress import PHASES, Progress
from tunesmith.store import open_store
from tunesmith.tuning import clock
from tunesmith.tuning.clock import RunClock
from tunesmith.tuning.tune import tune

HOUR = 3600.0


class Simulating(ScriptedMeasurer):
    """Takes no time, and says that each trial took an hour to build and two to run."""

    trials = 0

    @property
    def simulated(self) -> float:
        return 3 * HOUR * self.trials

    def measure(self, candidate: Candidate) -> Measurement:
        self.trials += 1
        return super().measure(candidate)

    def time_split(self) -> Mapping[str, float]:
        return {"build": HOUR * self.trials, "run": 2 * HOUR * self.trials, "idle": 0.0}


class Simulation(Scripted):
    def measurer(self, settings: MeasureSettings) -> Simulating:
        return Simulating(self)


class EndingError(Exception):
    """Stands in for what ends a block."""


class Wall:
    """A clock on the wall that moves when it is told to."""

    now = 1000.0

    def pass_by(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    wall = Wall()
    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=lambda: wall.now))
    return wall


def test_the_wall_clock(wall: Wall) -> None:
    clock = RunClock(ScriptedMeasurer(Scripted()))
    for _ in range(2):
        with clock.thinking():
            wall.pass_by(1.0)
        with clock.bookkeeping():
            wall.pass_by(4.0)
        wall.pass_by(16.0)
    assert clock.elapsed == 42.0
    parts = {"search": 2.0, "build": 0.0, "run": 0.0, "record": 8.0, "idle": 32.0}
    assert clock.split() == {**parts, "total": 42.0}
    assert list(parts) == list(PHASES)


def test_builds_count_where_nothing_else_is_done(wall: Wall) -> None:
    """A program was being built for all of the 10 s, of which the tuner was thinking for 4."""

    class Building(ScriptedMeasurer):
        def time_split(self) -> Mapping[str, float]:
            return {"build": 10.0, "run": 0.0, "idle": 0.0}

    clock = RunClock(Building(Scripted()))
    with clock.thinking():
        wall.pass_by(4.0)
    wall.pass_by(6.0)
    parts = {"search": 4.0, "build": 6.0, "run": 0.0, "record": 0.0, "idle": 0.0}
    assert clock.split() == {**parts, "total": 10.0}


def test_what_ran_counts_whole_while_the_tuner_thought(wall: Wall) -> None:
    """By it one sees for how long a GPU, or devices elsewhere, had nothing to do."""

    class Running(ScriptedMeasurer):
        def time_split(self) -> Mapping[str, float]:
            return {"build": 1.0, "run": 10.0, "idle": 0.0}

    clock = RunClock(Running(Scripted()))
    with clock.thinking():
        wall.pass_by(4.0)
    wall.pass_by(6.0)
    parts = {"search": 4.0, "build": 0.0, "run": 10.0, "record": 0.0, "idle": 0.0}
    assert clock.split() == {**parts, "total": 10.0}


def test_time_counts_however_its_block_ends(wall: Wall) -> None:
    clock = RunClock(ScriptedMeasurer(Scripted()))
    with pytest.raises(EndingError), clock.thinking():
        wall.pass_by(1.0)
        raise EndingError
    with pytest.raises(EndingError), clock.bookkeeping():
        wall.pass_by(2.0)
        raise EndingError
    parts = {"search": 1.0, "build": 0.0, "run": 0.0, "record": 2.0, "idle": 0.0}
    assert clock.split() == {**parts, "total": 3.0}


def test_a_simulated_clock_moves_by_thinking_and_trials_alone(wall: Wall) -> None:
    measurer = Simulating(Simulation())
    clock = RunClock(measurer)
    with clock.bookkeeping():
        wall.pass_by(4.0)
    assert clock.elapsed == 0.0, "books are kept while the clock stands still"
    with clock.thinking():
        wall.pass_by(1.0)
    assert clock.elapsed == 1.0
    measurer.measure(Candidate(config(1)))
    parts = {"search": 1.0, "build": HOUR, "run": 2 * HOUR, "record": 0.0, "idle": 0.0}
    assert clock.split() == {**parts, "total": 1.0 + 3 * HOUR}


def test_a_run_ends_with_the_simulated_time() -> None:
    seen: list[Progress] = []
    with open_store("sqlite://") as store:
        result = tune(
            Simulation(),
            "grid",
            Budget(seconds=10 * HOUR),
            store=store,
            progress=seen.append,
        )
        (session,) = store.sessions("scripted")
    assert result.stopped is Stop.SECONDS
    assert result.trials == 4, "three take nine hours, and the fourth ends after the tenth"
    time_of = dict(result.time)
    assert (time_of["build"], time_of["run"]) == (4 * HOUR, 8 * HOUR)
    assert time_of["record"] == 0.0
    assert time_of["idle"] == pytest.approx(0.0, abs=1e-6), "what the others leave, rounded"
    assert time_of["total"] == pytest.approx(12 * HOUR + time_of["search"])
    assert 0.0 < time_of["search"] < HOUR
    assert [state.elapsed // (3 * HOUR) for state in seen] == [1, 2, 3, 4]
    assert session.time_split["run"] == 8 * HOUR
