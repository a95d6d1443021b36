"""Features as a cost model takes them: finite ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Finite(NamedTuple):
    """``rows``, shape (n, features), have 0 for what is no number; ``empty``, shape (n,), says
    which had no number at all, and ``partly`` whether any other one had some that are none."""

    rows: Array
    empty: npt.NDArray[np.bool_]
    partly: bool


def finite(features: Array) -> Finite:
    """What is finite of features, shape (n, features): not every model takes NaN, and a config
    without a program has nothing else."""
    known = np.isfinite(features)
    empty: npt.NDArray[np.bool_] = ~np.any(known, axis=1)
    return Finite(np.where(known, features, 0.0), empty, not known[~empty].all())
