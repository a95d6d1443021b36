"""What a search has observed, in arrays that grow."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tunesmith.measurement import Measurement
from tunesmith.space import Config
from tunesmith.tuners.tuner import fitness

Array = npt.NDArray[np.float64]

# A time may be false, or of a hopeless config: differences between those that are so many times as
# slow as the best are not told apart, unless a quarter of the configs comes near that.
_FAR = math.log(100.0)

# The least cost of a trial in seconds, to take its logarithm.
_LEAST_COST = 1e-6

_ROOM = 64

# The columns before the coordinates.
_LOG, _COST, _REGION = 0, 1, 2
_FIRST = 3


class Observations:
    """The configs that were observed, with their coordinates, times and costs, oldest first."""

    def __init__(self, coordinates: int) -> None:
        self.configs: list[Config] = []
        self.valid = 0
        self._table: Array = np.empty((_ROOM, _FIRST + coordinates))

    def __len__(self) -> int:
        return len(self.configs)

    def add(self, measurement: Measurement, row: Array, region: int = 0) -> float:
        """Add a measurement; ``row`` are its config's coordinates, ``region`` is the number of that
        in which it was proposed. Returns its ``logs``."""
        count = len(self.configs)
        if count == len(self._table):
            self._table = np.concatenate([self._table, np.empty_like(self._table)])
        throughput = fitness(measurement)
        log = -math.log(throughput) if throughput > 0.0 else math.inf
        cost = math.log(max(_LEAST_COST, measurement.build_time + measurement.run_time))
        self._table[count, :_FIRST] = log, cost, region
        self._table[count, _FIRST:] = row
        self.configs.append(measurement.config)
        self.valid += throughput > 0.0
        return log

    @property
    def logs(self) -> Array:
        """Logarithms of the seconds of a call, shape (n,); infinite for failures."""
        return self._table[: len(self.configs), _LOG]

    @property
    def costs(self) -> Array:
        """Logarithms of the seconds of trials, shape (n,)."""
        return self._table[: len(self.configs), _COST]

    def of_region(self, number: int) -> npt.NDArray[np.intp]:
        """The places of the observations that are of a region, oldest first."""
        return np.flatnonzero(self._table[: len(self.configs), _REGION] == number)

    @property
    def rows(self) -> Array:
        """Coordinates, shape (n, coordinates)."""
        return self._table[: len(self.configs), _FIRST:]


@dataclass(frozen=True)
class Standardised:
    """Logarithms of seconds as ``values`` of mean 0 and deviation 1, and how to turn others into
    such values and back: the units of values change with every observation. None is worse than a
    failure, which counts as ``worst``."""

    values: Array
    middle: float
    deviation: float
    worst: float = math.inf

    def values_of(self, logs: Array) -> Array:
        """Other logarithms as values."""
        values: Array = (np.minimum(logs, self.worst) - self.middle) / self.deviation
        return values

    def log_of(self, value: float) -> float:
        """The logarithm that a value stands for."""
        return self.middle + self.deviation * value


def standardised(logs: Array, told_apart: float) -> Standardised:
    """Logarithms of seconds, standardised; one at least is finite.

    They are clipped at the quantile ``told_apart``, and far from the best: how slow a slow config
    is says little about where fast ones are. Failures are worse than that by half of the range that
    is left.
    """
    valid = np.isfinite(logs)
    found = logs[valid]
    best, worst = found.min(), found.max()
    if told_apart < 1.0:
        worst = np.quantile(found, told_apart)
    if worst > best + _FAR:
        slow = np.quantile(found, 0.75)
        worst = min(worst, max(best + _FAR, slow + (slow - best)))
    failed = worst + ((worst - best) / 2 or 1.0)
    values = np.where(valid, np.minimum(logs, worst), failed)
    middle, deviation = float(values.mean()), float(values.std()) or 1.0
    return Standardised((values - middle) / deviation, middle, deviation, failed)
