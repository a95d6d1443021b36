"""What tuning has brought a network over time, from the runs in a store."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tunesmith.networks.reporting.stored import StoredTask


def tuning_curve(tasks: Sequence[StoredTask]) -> list[tuple[float, float]]:
    """After how many seconds of tuning the layers of a call took how many seconds in all.

    Runs follow one another without the time between them. A task counts with its default schedule
    until it has a better time, or with its first time if the default has none; tasks without any
    do not count. The play-off at the end of a run replaces the times of its trials, which are
    partly lucky.
    """
    times = _at_first(tasks)
    if not times:
        return []
    points = [(0.0, _call(times))]
    before = 0.0
    runs = [(task, run) for task in tasks for run in task.runs]
    for task, run in sorted(runs, key=lambda pair: pair[1].session.started):
        confirmed = math.inf
        for record in run.records:
            if not record.measurement.valid:
                continue
            seconds = record.measurement.seconds
            if record.play_off:
                confirmed = seconds = min(confirmed, seconds)
            if seconds < times[task] or record.play_off:
                times[task] = seconds
                points.append((before + run.elapsed(record), _call(times)))
        before += run.seconds
    # The best of a store also knows of play-offs of other runs.
    times = {task: task.best.measurement.seconds for task in times if task.best is not None}
    return [*points, (before, _call(times))]


def _at_first(tasks: Sequence[StoredTask]) -> dict[StoredTask, float]:
    """The seconds of each task before it is tuned."""
    times: dict[StoredTask, float] = {}
    for task in tasks:
        measured = (record.measurement for run in task.runs for record in run.records)
        valid = (measurement.seconds for measurement in measured if measurement.valid)
        seconds = task.default_seconds or next(valid, None)
        if seconds is not None and task.best is not None:
            times[task] = seconds
    return times


def _call(times: Mapping[StoredTask, float]) -> float:
    return sum(task.layers * seconds for task, seconds in times.items())
