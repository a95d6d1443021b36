"""The seconds of a run, by the wall clock and by a simulated one."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

import pytest

from tests.scripted import Scripted, ScriptedMeasurer, config
from tunesmith.budget import Budget, Stop
from tunesmith.measurement import Measurement
from tunesmith.problem import MeasureSettings
from tunesmith.progress import Progress
from tunesmith.run_clock import RunClock
from tunesmith.space import Config
from tunesmith.store import open_store
from tunesmith.tuning import tune

HOUR = 3600.0


class Simulating(ScriptedMeasurer):
    """Takes no time, and says that each trial took an hour to build and two to run."""

    trials = 0

    @property
    def simulated(self) -> float:
        return 3 * HOUR * self.trials

    def measure(self, config: Config) -> Measurement:
        self.trials += 1
        return super().measure(config)

    def time_split(self) -> Mapping[str, float]:
        return {"build": HOUR * self.trials, "run": 2 * HOUR * self.trials, "idle": 0.0}


class Simulation(Scripted):
    def measurer(self, settings: MeasureSettings, best: float = math.inf) -> Simulating:
        return Simulating(self)


class EndingError(Exception):
    """Stands in for what ends a block."""


def test_the_wall_clock() -> None:
    clock = RunClock()
    clock.measurer = ScriptedMeasurer(Scripted())
    with clock.thinking():
        time.sleep(0.01)
    with clock.bookkeeping():
        time.sleep(0.01)
    time.sleep(0.01)
    split = clock.split()
    assert split["search"] >= 0.02
    assert split["idle"] >= 0.01
    assert split["total"] == pytest.approx(sum(split.values()) - split["total"])
    assert clock.elapsed >= split["total"]


def test_without_a_measurer_all_is_search_or_idle() -> None:
    clock = RunClock()
    with pytest.raises(EndingError), clock.thinking():
        time.sleep(0.01)
        raise EndingError
    split = clock.split()
    assert (split["build"], split["run"]) == (0.0, 0.0)
    assert split["search"] >= 0.01


def test_a_simulated_clock_moves_by_thinking_and_trials_alone() -> None:
    clock = RunClock()
    measurer = Simulating(Simulation())
    clock.measurer = measurer
    with clock.bookkeeping():
        time.sleep(0.01)
    assert clock.elapsed == 0.0, "books are kept while the clock stands still"
    with clock.thinking():
        time.sleep(0.01)
    thought = clock.elapsed
    assert 0.01 <= thought < HOUR
    measurer.measure(config(1))
    assert clock.elapsed == pytest.approx(thought + 3 * HOUR)
    assert clock.split() == {
        "search": thought,
        "build": HOUR,
        "run": 2 * HOUR,
        "idle": 0.0,
        "total": clock.elapsed,
    }


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
    assert (time_of["build"], time_of["run"], time_of["idle"]) == (4 * HOUR, 8 * HOUR, 0.0)
    assert time_of["total"] == pytest.approx(12 * HOUR + time_of["search"])
    assert 0.0 < time_of["search"] < HOUR
    assert [state.elapsed // (3 * HOUR) for state in seen] == [1, 2, 3, 4]
    assert session.time_split["run"] == 8 * HOUR
