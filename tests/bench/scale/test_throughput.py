"""Runs of the real loop with simulated devices: whether their figures are to be believed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.bench.scale.test_fleet import FAULTLESS
from tunesmith.bench.compare.simulated import RecordedSpace
from tunesmith.bench.scale.fleet import FleetSettings
from tunesmith.bench.scale.problem import SYNTHETIC, synthetic_sketches
from tunesmith.bench.scale.throughput import (
    ThroughputSettings,
    measure_throughput,
    simulate_fleet,
)
from tunesmith.budget import Budget
from tunesmith.errors import UsageError
from tunesmith.measure.recorded.recording import load_recording
from tunesmith.measure.recorded.replay import ReplayProblem
from tunesmith.store import ANY_MACHINE, open_store
from tunesmith.tuners import tuner
from tunesmith.tuning.tune import tune

RECORDED = Path(__file__).parents[3] / "data" / "replay" / "depthwise" / "zen5.json.gz"


@pytest.mark.parametrize("name", ["random", "auto"])
def test_one_device_does_what_plain_replay_does(name: str) -> None:
    """The same trials in the same order, and as many seconds of them to 95 % of the best."""
    trials = 120
    with open_store("sqlite://") as store:
        fleet, stopped = simulate_fleet(
            {"": RecordedSpace(load_recording(RECORDED))},
            FleetSettings(1, trial_seconds=None, ahead=0.0, **FAULTLESS),
            tuner(name),
            store,
            seconds=0.001,
            trials=trials,
            seed=7,
            host=lambda: 0.0,
        )
        (summary,) = store.tasks(machine=ANY_MACHINE)
        ours = store.measurements(summary.key, sketch_version=1, machine=ANY_MACHINE)
    assert stopped == "exhausted"
    with open_store("sqlite://") as store:
        problem = ReplayProblem(RECORDED)
        tune(problem, tuner(name), Budget(trials=trials), store=store, seed=7)
        theirs = store.measurements(problem.key, machine=ANY_MACHINE)
    assert [m.config for m in ours] == [m.config for m in theirs]
    assert [m.seconds for m in ours] == [m.seconds for m in theirs]
    spent, best = 0.0, math.inf
    improvements: list[tuple[float, float, int]] = []
    for trials, measurement in enumerate(theirs, start=1):
        spent += measurement.build_time + measurement.run_time
        if measurement.seconds < best:
            best = measurement.seconds
            improvements.append((spent, best, trials))
    assert [it.seconds for it in fleet.improvements] == [found for _, found, _ in improvements]
    assert [it.trials for it in fleet.improvements] == [trials for _, _, trials in improvements]
    times = [at for at, _, _ in improvements]
    assert [it.at for it in fleet.improvements] == pytest.approx(times)
    assert len(improvements) >= 2


def test_a_device_is_busy_but_for_the_host_s_work() -> None:
    """By the real clock, one candidate at a time: the device waits for whatever the host does."""
    with open_store("sqlite://") as store:
        fleet, _ = simulate_fleet(
            synthetic_sketches(),
            FleetSettings(1, trial_seconds=0.05, ahead=0.0, **FAULTLESS),
            tuner("auto"),
            store,
            seconds=0.1,
            trials=40,
            seed=0,
        )
    usage = fleet.usage()
    assert 0.0 < usage.host_share < 1.0
    assert usage.busy == pytest.approx(1.0 - usage.host_share, abs=0.05)
    assert fleet.collected == 40


def test_a_candidate_that_waits_for_each_device_keeps_it_busy() -> None:
    with open_store("sqlite://") as store:
        fleet, _ = simulate_fleet(
            synthetic_sketches(),
            FleetSettings(1, trial_seconds=50.0, ahead=1.0, **FAULTLESS),
            tuner("random"),
            store,
            seconds=1.0,
            trials=20,
            seed=0,
        )
    assert fleet.usage().busy > 0.999


def test_a_row_and_what_is_stored(tmp_path: Path) -> None:
    told: list[tuple[float, int]] = []
    settings = ThroughputSettings((40,), seconds=3.0, trials=100)
    location = str(tmp_path / "kept.db")
    row = measure_throughput(
        tuner("random"),
        40,
        settings,
        location,
        lambda seconds, trials: told.append((seconds, trials)),
    )
    assert (row["tuner"], row["devices"]) == ("random", 40)
    assert row["seconds"] >= 3.0
    assert row["trials"] >= 100
    assert 0.0 < row["busy"] <= 1.0
    assert 0.0 < row["host_share"] <= 1.0
    assert row["records_per_second"] == row["trials"] / row["seconds"]
    assert row["proposals_per_second"] > row["records_per_second"]
    assert row["best_seconds"] == row["improvements"][-1].seconds
    assert told[-1][1] == row["trials"]
    with open_store(location, create=False) as store:
        (summary,) = store.tasks(machine=ANY_MACHINE)
        assert summary.trials == row["trials"]
        best = store.best(summary.key, machine=ANY_MACHINE)
        assert best is not None
        assert best.measurement.seconds == row["best_seconds"]
        assert best.sketch in SYNTHETIC
        assert best.machine["fingerprint"] == "simulated"


def test_settings_make_sense() -> None:
    with pytest.raises(UsageError, match="name at least one number of devices"):
        ThroughputSettings(())
    with pytest.raises(UsageError, match="at least one device is needed, not 0"):
        ThroughputSettings((1, 0))
    with pytest.raises(UsageError, match="seconds must be positive, not nan"):
        ThroughputSettings(seconds=math.nan)
    with pytest.raises(UsageError, match="trials must be positive, not 0"):
        ThroughputSettings(trials=0)
