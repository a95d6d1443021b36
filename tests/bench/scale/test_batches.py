"""Runs in batches, and what they are compared by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tunesmith.bench.compare.score import TIMES, Baselines
from tunesmith.bench.compare.simulated import RecordedSpace, simulate
from tunesmith.bench.scale.batches import BatchSettings, batched_run, measure_batches
from tunesmith.errors import UsageError
from tunesmith.measure.recorded.recording import load_recording
from tunesmith.tuners import tuner

RECORDED = Path(__file__).parents[3] / "data" / "replay" / "depthwise" / "zen5.json.gz"


def test_batches_of_one_are_a_serial_run() -> None:
    answers = RecordedSpace(load_recording(RECORDED))
    trace = simulate(tuner("auto"), answers, 3, trials=60)
    assert batched_run(tuner("auto"), answers, 3, 1, 60).tolist() == trace.seconds.tolist()


def test_a_batch_is_blind() -> None:
    """With one batch for all, nothing that is learned has any effect; in smaller ones it has."""
    answers = RecordedSpace(load_recording(RECORDED))
    blind, serial = (batched_run(tuner("genetic"), answers, 3, n, 400) for n in (400, 1))
    random = batched_run(tuner("random"), answers, 3, 400, 400)
    assert blind.tolist() == random.tolist()
    assert serial.tolist() != random.tolist()


def test_a_run_ends_with_the_space() -> None:
    recording = load_recording(RECORDED)
    found = batched_run(tuner("random"), RecordedSpace(recording), 0, 1000, 5000)
    assert sorted(found) == sorted(recording.seconds)


def test_baselines_at_other_times() -> None:
    recording = load_recording(RECORDED)
    times = np.linspace(1, 500, TIMES)
    baselines = Baselines.of(recording.seconds, np.ones(len(recording.seconds)), times=times)
    assert baselines.budget == 500.0
    assert (np.diff(baselines.matched) <= 0.0).all()
    assert baselines.matched[-1] < baselines.matched[0]


def test_the_rows() -> None:
    said: list[str] = []
    settings = BatchSettings((1, 30), trials=45, repeats=2)
    rows = measure_batches(tuner("auto"), settings, RECORDED, said.append)
    assert [row["space"] for row in rows[::2]] == [
        *("depthwise/zen5", "synthetic.mixed.0", "synthetic.mixed.3"),
    ]
    assert [row["batch"] for row in rows] == [1, 30] * 3
    for serial, batched in zip(rows[::2], rows[1::2], strict=True):
        assert serial["quality"] == 1.0
        ratio = np.prod(serial["best_seconds"]) / np.prod(batched["best_seconds"])
        assert batched["quality"] == pytest.approx(ratio**0.5)
        assert batched["quality_error"] >= 0.0
    assert -1.0 < rows[1]["score"] <= 1.0
    assert rows[1]["score_error"] >= 0.0
    assert "score" not in rows[2]
    assert len(said) == 6


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"batches": (8, 0)}, "a batch must be positive, not 0"),
        ({"trials": 0}, "trials must be positive, not 0"),
        ({"repeats": 0}, "repeats must be positive, not 0"),
    ],
)
def test_settings_make_sense(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        BatchSettings(**settings)  # type: ignore[arg-type]
