"""What is said of runs that are too short for their tuner."""

from __future__ import annotations

from tunesmith.tuners.tuner import Tuner

# A run is short where its random start is at least this share of it.
_SHARE = 0.5

# The start that is advised, where it is shorter and would be less of the run.
_SMALL = 20


def mostly_random(start: float, trials: float) -> bool:
    """Whether a run of so many ``trials``, of which the first ``start`` are random, is little more
    than these."""
    return start >= _SHARE * trials


def short_run(
    tuner: Tuner, trials: int | None, *, searches: int = 1, transfers: bool = False
) -> str:
    """Why a run of so many trials, None for no limit, is mostly random search; empty if it is not.

    The trials are shared by as many ``searches``, and they have a model of other tasks if it
    ``transfers``. The papers' populations have runs of hours in view: a run of a hundred trials
    never gets beyond the first one.
    """
    start = tuner.random_start(transfers=transfers)
    if trials is None or not mostly_random(start * searches, trials):
        return ""
    begins = f"its first {start} configs"
    if searches > 1:
        begins += f" with each of {searches} sketches"
    mostly = "" if start * searches >= trials else "mostly "
    helps = start > _SMALL and _SMALL * searches <= _SHARE * trials
    smaller = f"{tuner.random_start_option}={_SMALL}, or " if helps else ""
    return (
        f"tuner '{tuner.name}': {begins} are random, so a run of {trials} trials is {mostly}random "
        f"search: try {smaller}more trials"
    )
