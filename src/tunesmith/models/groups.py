"""Points of several groups, such as the trials of several tasks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def members_of(groups: npt.NDArray[np.int64]) -> list[npt.NDArray[np.intp]]:
    """The places of the points of each group, by the numbers of the groups, shape (points,)."""
    order = np.argsort(groups, kind="stable")
    ends = np.flatnonzero(np.diff(groups[order])) + 1
    return np.split(order, ends)
