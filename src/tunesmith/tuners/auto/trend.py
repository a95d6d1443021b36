"""What estimates say of values, as the mean that a process of what was observed departs from."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tunesmith.space import Config
from tunesmith.tuners.view import View

Array = npt.NDArray[np.float64]

# With so few observations a slope is chance.
_FEWEST = 8


class Trend:
    """A line through the values of observed configs over the logarithms of their estimates.

    What it is fitted to grows: those of before, and new ones. It is 0 where there are no estimates,
    or where they have nothing to say of the values.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._has_estimates = view.has_estimates
        self._logs: dict[Config, float] = {}
        self._fitted: Array = np.empty(0)  # the logarithms of what it was fitted to
        self._slope = 0.0
        self._middle = 0.0

    def fit(self, configs: Sequence[Config], values: Array) -> Array:
        """Fit to the values, shape (n,), of configs, of which the first ones are those of the last
        call; returns what it says of these."""
        self._slope = 0.0
        if not self._has_estimates or len(values) < _FEWEST:
            return np.zeros(len(values))
        assert len(configs) >= len(self._fitted), "what it is fitted to grows"
        new = self._logs_of(configs[len(self._fitted) :])
        logs = self._fitted = np.concatenate([self._fitted, new])
        known = np.isfinite(logs)
        if not known.any() or not np.ptp(logs[known]) > 0.0:
            return np.zeros(len(values))
        self._middle = float(logs[known].mean())
        apart = logs[known] - self._middle
        self._slope = max(0.0, float(apart @ values[known]) / float(apart @ apart))
        return self._line(logs)

    def of(self, configs: Sequence[Config]) -> Array:
        """What it says of configs, shape (configs,)."""
        if not self._slope:
            return np.zeros(len(configs))
        return self._line(self._logs_of(configs))

    def _line(self, logs: Array) -> Array:
        line: Array = np.where(np.isfinite(logs), self._slope * (logs - self._middle), 0.0)
        return line

    def _logs_of(self, configs: Sequence[Config]) -> Array:
        new = list(dict.fromkeys(config for config in configs if config not in self._logs))
        if new:
            estimates = self._view.estimates(new)
            assert estimates is not None
            safe = np.where(estimates > 0.0, estimates, math.nan)
            self._logs.update(zip(new, np.log(safe).tolist(), strict=True))
        return np.array([self._logs[config] for config in configs])
