"""How far runs are past the random configs that their tuners begin with.

Until then a tuner is random search, and two that draw the same configs for a seed are even the same
search: what tells them apart is how fast the machine was.
"""

from __future__ import annotations

import numpy as np

from tunesmith.bench.compare.simulated_trace import Trace
from tunesmith.tuners import Tuner

# The option that says how many configs are drawn at random before any is bred or planned, by tuner.
_OPTIONS = {
    "nose": "population",
    "genetic": "population",
    "opevo": "parents",
    "annealing": "starts",
    "autotvm": "batch",
}


def random_start(tuner: Tuner) -> int:
    """How many random configs a search begins with; 0 for tuners without such a phase, of which
    random search is one."""
    option = _OPTIONS.get(tuner.name)
    return 0 if option is None else int(getattr(tuner, option))


def past_start(trace: Trace, start: int) -> float | None:
    """Seconds of tuning at which a run has had more than ``start`` configs, one of them valid; None
    if it ended before."""
    there = np.isfinite(trace.best) & (np.arange(len(trace.ended)) >= start)
    return float(trace.ended[np.argmax(there)]) if there.any() else None
