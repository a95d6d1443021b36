"""The best so far over the trials of a run, as steps: pairs of a trial's number and a figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

FIRST_TRIALS = 20
"""What counts as a start."""

Steps = Sequence[Sequence[float]]
"""A pair for each trial that was better than all before it; lists where they come from a file."""


def improvements(speeds: Iterable[float]) -> list[tuple[int, float]]:
    """The number of each trial that was faster than all before it, from 1 on, and its speed."""
    steps, reached = [], 0.0
    for number, speed in enumerate(speeds, start=1):
        if speed > reached:
            reached = speed
            steps.append((number, speed))
    return steps


def curve(speeds: Iterable[float]) -> list[tuple[int, float]]:
    """The improvements as shares of the best of all."""
    steps = improvements(speeds)
    return [(number, speed / steps[-1][1]) for number, speed in steps]


def start_share(speeds: Sequence[float], first: int = FIRST_TRIALS) -> float | None:
    """How fast the best of the first trials is, as a share of the best of all.

    None where there were no more, so that it would say nothing.
    """
    steps = curve(speeds)
    return share_at(steps, first) if steps and len(speeds) > first else None


def share_at(steps: Steps, trial: float) -> float:
    """What a curve had reached by a trial; 0 before its first step."""
    return max((share for number, share in steps if number <= trial), default=0.0)
