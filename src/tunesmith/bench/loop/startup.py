"""``tunesmith bench startup``: where the time goes from the command to the first trial's result."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measure.failure import last_line
from tunesmith.measure.milestones import FILE_VARIABLE

# So that the first batch of trials is as in any run.
_TRIALS = 12

FIRST_TRIAL = "server: a build begins"
FIRST_RESULT = "server: a trial ends"


def measure_startup(
    words: Sequence[str], repeats: int, say: Callable[[str], None]
) -> dict[str, Any]:
    """Median seconds from the command to each milestone of the client and of the server.

    ``words`` name the task as for ``tunesmith tune``; each of the ``repeats`` runs has a new store.
    JSON-ready: ``milestones`` are by process, in the order of time; ``first_trial`` is when the
    first build begins, ``first_result`` when its trial has ended. Raises ``UsageError`` for less
    than one repeat, ``TunesmithError`` with the complaint of a run that fails.
    """
    if repeats < 1:
        raise UsageError(f"repeats must be positive, not {repeats}")
    runs = []
    for number in range(1, repeats + 1):
        say(f"run {number} of {repeats} ...")
        runs.append(_milestones(words))
    names = [name for name in runs[0] if all(name in run for run in runs)]
    medians = {name: statistics.median(run[name] for run in runs) for name in names}
    missing = {FIRST_TRIAL, FIRST_RESULT} - medians.keys()
    if missing:
        raise TunesmithError("the runs had no trial: see what 'tunesmith tune' says of the task")
    milestones: dict[str, dict[str, float]] = {"client": {}, "server": {}}
    for name, seconds in sorted(medians.items(), key=lambda item: item[1]):
        process, colon, what = name.rpartition(": ")
        milestones[process if colon else "client"][what] = seconds
    return {
        "milestones": milestones,
        "first_trial": medians[FIRST_TRIAL],
        "first_result": medians[FIRST_RESULT],
    }


def _milestones(words: Sequence[str]) -> dict[str, float]:
    """Seconds from the start of a run's command to when each milestone was reached first."""
    with tempfile.TemporaryDirectory(prefix="tunesmith-bench-") as folder:
        notes = Path(folder) / "milestones"
        command = [sys.executable, "-m", "tunesmith.cli.main", "tune", *words]
        command += ["--trials", str(_TRIALS), "--store", str(Path(folder) / "trials.db")]
        begun = time.monotonic()
        ran = subprocess.run(
            command,
            env={**os.environ, FILE_VARIABLE: str(notes)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        if ran.returncode:
            said = last_line(ran.stderr).removeprefix("tunesmith: ")
            raise TunesmithError(said or "the run fails")
        reached: dict[str, float] = {}
        for line in notes.read_text().splitlines():
            at, _, name = line.partition(" ")
            reached.setdefault(name, float(at) - begun)
        return reached
