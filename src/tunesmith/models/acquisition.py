"""What a trial of a point is worth, by a model's prediction: higher is better.

"Learning to Optimize Tensor Programs", section 6.1 (figure 7) and appendix A.1 (figure 16),
compares the three.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from tunesmith.errors import UsageError
from tunesmith.models.cost_model import Prediction

Array = npt.NDArray[np.float64]
Acquisition = Literal["mean", "expected-improvement", "upper-confidence-bound"]


def acquire(kind: Acquisition, prediction: Prediction, best: float) -> Array:
    """The worth of m points, shape (m,), in the unit of the values.

    ``prediction`` has one value a point, shape (m,); ``best`` is the largest value so far. The
    upper confidence bound is one deviation above the mean. Raises ``UsageError`` for a prediction
    without deviations, which only ``mean`` can do without.
    """
    means, deviations = prediction
    if kind == "mean":
        return means
    if deviations is None:
        raise UsageError(f"the acquisition {kind} needs a model that estimates its uncertainty")
    if kind == "upper-confidence-bound":
        return means + deviations
    return expected_improvement(means - best, deviations)


def expected_improvement(gains: Array, deviations: Array) -> Array:
    """The expected part above 0 of normal variables with these means, ``gains``, and deviations;
    all have shape (m,) and the unit of the values.

    A gain is how much better than the best so far a point is thought to be (Jones, Schonlau and
    Welch, "Efficient Global Optimization of Expensive Black-Box Functions", 1998, equation 15).
    """
    safe = np.where(deviations > 0.0, deviations, 1.0)
    ratio = gains / safe
    density = np.exp(-0.5 * ratio**2) / math.sqrt(2 * math.pi)
    chance = 0.5 * np.array([*map(math.erfc, (ratio / -math.sqrt(2)).tolist())])
    improvement: Array = np.where(
        deviations > 0.0, gains * chance + deviations * density, np.maximum(gains, 0.0)
    )
    return improvement
