"""Distances of points: scaled sums over their coordinates (L1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tunesmith.models.one_thread import one_thread

Array = npt.NDArray[np.float64]

# Where known points have more steps than this, distances are computed directly, for so many
# differences at a time.
_MOST_STEPS = 20_000
_BLOCK = 1 << 22


class Distances:
    """Scaled distances to known points, ``sum_j |x_j - y_j| / scale_j``, as a matrix product.

    ``|x - y| = x + y - 2 min(x, y)``, and a coordinate has few distinct known values. Their
    differences divide [0, y] into steps, and ``min(x, y)`` is the sum of the parts of these steps
    that are below ``x``. Known coordinates below 0 are all counted from the lowest one; what is
    below that, or below 0, has nothing in common with known points.

    ``known`` has shape (known, coordinates), ``scales``, above 0, shape (coordinates,).
    """

    def __init__(self, known: Array, scales: Array) -> None:
        self._low = known.min(axis=0, initial=0.0)
        known = known - self._low
        values = np.sort(np.vstack([np.zeros(known.shape[1]), known]), axis=0).T
        is_step = values[:, 1:] > values[:, :-1]
        self._weights = 1.0 / scales
        self._known = known if np.count_nonzero(is_step) > _MOST_STEPS else None
        if self._known is not None:
            return
        tops, bottoms = values[:, 1:][is_step], values[:, :-1][is_step]
        self._coordinates, _ = np.nonzero(is_step)
        self._bottoms, self._steps = bottoms[:, None], (tops - bottoms)[:, None]
        reached = known.T[self._coordinates] >= tops[:, None]
        self._twice_reached = reached * (2.0 * self._weights[self._coordinates])[:, None]
        with one_thread():
            self._sums = known @ self._weights

    def to(self, points: Array) -> Array:
        """The distances from points, shape (points, coordinates), to known points, shape (points,
        known)."""
        points = points - self._low
        if self._known is not None:
            return self._added_up(points, self._known)
        covered = points.T[self._coordinates]
        covered -= self._bottoms
        np.maximum(covered, 0.0, out=covered)
        np.minimum(covered, self._steps, out=covered)
        with one_thread():
            distances = covered.T @ self._twice_reached
            sums = np.abs(points) @ self._weights
        np.subtract(self._sums, distances, out=distances)
        distances += sums[:, None]
        return np.maximum(distances, 0.0, out=distances)

    def _added_up(self, points: Array, known: Array) -> Array:
        distances = np.empty((len(points), len(known)))
        rows = max(1, _BLOCK // max(1, known.size))
        with one_thread():
            for first in range(0, len(points), rows):
                some = slice(first, first + rows)
                distances[some] = np.abs(points[some, None] - known) @ self._weights
        return distances


def typical_distance(points: Array) -> float:
    """About the mean distance of two of the points, shape (points, coordinates), in the sum over
    the coordinates (L1), from pairs of one of the first and one of the second half; 1 where these
    are all of equal points."""
    half = len(points) // 2
    apart = np.abs(points[:half] - points[half : 2 * half]).sum(axis=1)
    return float(apart.mean()) if apart.any() else 1.0
