"""What large batches cost in quality: the same number of trials, so many at a time."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.bench.compare.score import TIMES, Baselines, score
from tunesmith.bench.compare.simulated import Answers, RecordedSpace
from tunesmith.bench.synthetic.families import synthetic
from tunesmith.errors import UsageError
from tunesmith.measure.recorded.recording import load_recording
from tunesmith.tuners import Tuner, View

Floats = npt.NDArray[np.float64]

RECORDED = Path("data/replay/gemm/zen5.json.gz")
"""The largest of the recorded spaces in the repository: 12,114 configs."""

SYNTHETIC = ("synthetic.mixed.0", "synthetic.mixed.3")


@dataclass(frozen=True)
class BatchSettings:
    """Runs of so many ``trials``, with each of the ``batches``, ``repeats`` times.

    Raises ``UsageError`` for what makes no sense.
    """

    batches: tuple[int, ...] = (1, 8, 64, 256, 1_000)
    trials: int = 2_000
    repeats: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        for batch in self.batches:
            if batch < 1:
                raise UsageError(f"a batch must be positive, not {batch}")
        for name in ("trials", "repeats"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be positive, not {getattr(self, name)}")


def batched_run(tuner: Tuner, answers: Answers, seed: int, batch: int, trials: int) -> Floats:
    """Seconds of a call of each trial in their order, infinite for failures, shape (trials,).

    A batch is proposed as a whole, and observed as a whole before the next: no result of a batch
    helps to choose another config of it.
    """
    space = answers.new_space()
    search = tuner.start_on(View(space), seed)
    found: list[float] = []
    while len(found) < trials:
        configs = search.propose(min(batch, trials - len(found)))
        if not configs:
            break
        measurements = [m for m in map(answers.measurement, configs) if m is not None]
        search.observe(measurements)
        found += [measurement.seconds for measurement in measurements]
    return np.array(found)


def measure_batches(
    tuner: Tuner, settings: BatchSettings, recorded: Path, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """A row for each space and batch, JSON-ready: see ``docs/command-line.md``.

    Raises ``UsageError`` for a recording that cannot be used.
    """
    recording = load_recording(recorded)
    scores = _Scores(recording.seconds, settings.trials)
    rows = []
    spaces: list[tuple[str, Answers, _Scores | None]] = [
        (f"{recorded.parent.name}/{recorded.name.split('.')[0]}", RecordedSpace(recording), scores)
    ]
    spaces += [(name, synthetic(name), None) for name in SYNTHETIC]
    for name, answers, scored in spaces:
        serial: list[float] = []
        for batch in settings.batches:
            say(f"{name}: {settings.repeats} runs in batches of {batch} ...")
            seeds = range(settings.seed, settings.seed + settings.repeats)
            runs = [batched_run(tuner, answers, s, batch, settings.trials) for s in seeds]
            bests = [float(run.min(initial=math.inf)) for run in runs]
            serial = serial or bests
            row = {"space": name, "batch": batch, "tuner": tuner.name, "best_seconds": bests}
            row.update(_quality(serial, bests))
            rows.append({**row, **({} if scored is None else scored.of(runs))})
    return rows


def _quality(serial: Sequence[float], bests: Sequence[float]) -> dict[str, float | None]:
    """The speed of what batches found relative to the first kind of runs, and its standard error.

    Both are geometric means over the runs.
    """
    if not all(map(math.isfinite, (*serial, *bests))):
        return {"quality": None, "quality_error": None}
    ours, theirs = np.log(bests), np.log(serial)
    quality = float(np.exp(theirs.mean() - ours.mean()))
    if len(bests) < 2:
        return {"quality": quality, "quality_error": None}
    spread = statistics.variance(ours) + statistics.variance(theirs)
    return {"quality": quality, "quality_error": quality * math.sqrt(spread / len(bests))}


class _Scores:
    """The score of ``tunesmith compare`` with the number of trials as its clock."""

    def __init__(self, seconds: Floats, trials: int) -> None:
        self._trials = trials
        self._baselines = Baselines.of(
            seconds, np.ones(len(seconds)), times=np.linspace(1, trials, TIMES)
        )

    def of(self, runs: Sequence[Floats]) -> dict[str, float]:
        """``score``, over all of the trials, with its deviation ``score_error``."""
        ended = np.arange(1.0, self._trials + 1.0)
        ranks = np.array([self._baselines.ranks(ended[: len(run)], run) for run in runs])
        found = score(self._baselines, ranks).matched
        return {"score": found.mean, "score_error": found.std}
