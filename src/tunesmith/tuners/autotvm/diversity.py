"""The choice of a batch whose configs are good and differ from each other.

"Learning to Optimize Tensor Programs", section 3.3, equation 3: the sum of the scores of the chosen
ones, plus α times the number of distinct values that they have of each parameter. The objective is
submodular, so a greedy choice is close to the best one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tunesmith.features.config_rows import Rows

Array = npt.NDArray[np.float64]


def diverse(rows: Rows, scores: Array, count: int, alpha: float) -> npt.NDArray[np.intp]:
    """The numbers of ``count`` rows, in the order of their choice; fewer if there are fewer.

    ``rows`` have shape (n, parameters), ``scores`` (n,).
    """
    total, parameters = rows.shape
    every = np.arange(parameters)
    is_new = np.ones((parameters, int(rows.max(initial=0)) + 1))
    left = np.ones(total, dtype=np.bool_)
    chosen: list[int] = []
    for _ in range(min(count, total)):
        worth = scores + alpha * is_new[every, rows].sum(axis=1)
        number = int(np.argmax(np.where(left, worth, -np.inf)))
        left[number] = False
        is_new[every, rows[number]] = 0.0
        chosen.append(number)
    return np.array(chosen, dtype=np.intp)
