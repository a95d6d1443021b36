"""What is said of runs that are too short for their tuner."""

from __future__ import annotations

from tunesmith.tuners.tuner import Tuner

# A run is short where its random start is at least this share of it.
_SHARE = 0.5


def short_run(tuner: Tuner, trials: int | None) -> str:
    """Why a run of so many trials is mostly random search, None for no limit; empty if it is not.

    A first generation is random: with the populations of the papers, which have runs of hours in
    view, a run of a hundred trials never gets beyond it.
    """
    start = tuner.random_start
    if trials is None or start < _SHARE * trials:
        return ""
    return (
        f"tuner '{tuner.name}': its first {start} configs are random, so a run of {trials} trials "
        f"is {'' if start >= trials else 'mostly '}random search: try {tuner.name}:population=20, "
        "or more trials"
    )
