"""How far runs are past the random configs that their tuners begin with.

Until then a tuner is random search, and two that draw the same configs for a seed are even the same
search: what tells them apart is how fast the machine was.
"""

from __future__ import annotations

import numpy as np

from tunesmith.bench.compare.simulated_trace import Trace


def past_start(trace: Trace, start: int) -> float | None:
    """Seconds of tuning at which a run has had more than ``start`` configs, one of them valid; None
    if it ended before."""
    there = np.isfinite(trace.best) & (np.arange(len(trace.ended)) >= start)
    return float(trace.ended[np.argmax(there)]) if there.any() else None
