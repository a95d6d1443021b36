"""A Gaussian process with a length scale per coordinate (ARD), in NumPy.

The kernel is exponential: ``amplitude * exp(-sum_j |x_j - y_j| / scale_j)``. Its functions are
rough, like speed over the parameters of a program, and an irrelevant coordinate gets a long scale.
Coordinates may share one: those that are one choice. Scales, amplitude and noise maximise the
posterior under wide log-normal priors, by Adam steps along the exact gradient (Rasmussen and
Williams, "Gaussian Processes for Machine Learning", 2006, equations 2.25, 2.26 and 5.9).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tunesmith.models.cost_model import Prediction
from tunesmith.models.distances import Distances
from tunesmith.models.one_thread import one_thread

Array = npt.NDArray[np.float64]

_JITTER = 1e-8

FITTED = 120
"""The most points that hyperparameters should be fitted to: that takes cubic time, and room for
each length scale of each pair."""

# Means and standard deviations of the priors over the logarithms. Values have unit variance. With
# scales of the typical distance between two points the process is neither rough nor flat, however
# many coordinates there are: the mean of their prior is relative to it.
_SCALE = (0.0, 1.0)
_AMPLITUDE = (0.0, 1.0)
_NOISE = (float(np.log(1e-2)), 1.5)

# Adam's constants, with faster decay than usual, as there are few steps.
_STEP, _MOMENTUM, _SQUARES, _TINY = 0.2, 0.8, 0.95, 1e-9


@dataclass(frozen=True)
class _Hyperparameters:
    """The logarithms of the scale of each group of coordinates, the amplitude and the noise.

    ``groups`` holds the number of each coordinate's group.
    """

    logs: Array
    groups: npt.NDArray[np.intp]

    @property
    def scales(self) -> Array:
        """That of each coordinate."""
        return np.asarray(np.exp(self.logs[:-2])[self.groups])

    @property
    def amplitude(self) -> float:
        return float(np.exp(self.logs[-2]))

    @property
    def noise(self) -> float:
        return float(np.exp(self.logs[-1])) + _JITTER


class GaussianProcess:
    """A process whose functions have mean 0; ``ScaledProcess`` is the cost model.

    ``adapt`` optimises the hyperparameters, starting from the last ones; ``condition`` sets the
    known points. The prior of the hyperparameters is made for features from 0 to
    about 1, and for values whose standard deviation is about 1. ``groups`` holds for each feature
    the number of its length scale, from 0 on; by default each has its own. ``distance`` is how far
    apart two typical points are, in the sum over the features (the L1 distance).
    """

    def __init__(
        self, features: int, groups: Sequence[int] | None = None, distance: float = 1.0
    ) -> None:
        numbers = np.asarray(range(features) if groups is None else groups, dtype=np.intp)
        count = int(numbers.max(initial=-1)) + 1
        self._prior = _Prior.of(count, distance)
        self._found = _Hyperparameters(self._prior.means, numbers)
        self._distances = Distances(np.empty((0, features)), self._found.scales)
        self._inverse: Array = np.empty((0, 0))
        self._weights: Array = np.empty(0)

    def adapt(self, points: Array, values: Array, steps: int = 8) -> None:
        """Adapt the hyperparameters to values, shape (n,), at points, shape (n, features).

        Takes time in proportion to ``steps * n**2 * (n + features)``.
        """
        with one_thread():
            self._found = self._ascended(points, values, steps)

    def _ascended(self, points: Array, values: Array, steps: int) -> _Hyperparameters:
        groups, logs = self._found.groups, self._found.logs
        apart = _apart(points, groups, len(logs) - 2)
        best, best_objective = logs, -np.inf
        momentum: Array = np.zeros_like(logs)
        squares: Array = np.zeros_like(logs)
        for step in range(1, steps + 2):
            found = _Hyperparameters(logs, groups)
            objective, gradient = _log_posterior(found, self._prior, apart, values)
            if objective > best_objective:
                best, best_objective = logs, objective
            if not np.isfinite(objective):
                break
            momentum = _MOMENTUM * momentum + (1 - _MOMENTUM) * gradient
            squares = _SQUARES * squares + (1 - _SQUARES) * gradient**2
            size = np.sqrt(squares / (1 - _SQUARES**step)) + _TINY
            logs = logs + _STEP * momentum / (1 - _MOMENTUM**step) / size
        return _Hyperparameters(best, groups)

    def condition(self, points: Array, values: Array) -> None:
        """Set the known values at points; replaces all earlier ones.

        ``values`` have shape (n,), or (n, k) for k functions with the same hyperparameters.
        """
        self._distances = Distances(points, self._found.scales)
        covariance = self._covariance(points)
        covariance.flat[:: len(points) + 1] += self._found.noise
        with one_thread():
            self._inverse = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
            self._weights = self._inverse @ values

    def predict(self, features: Array) -> Prediction:
        """Means and deviations at m points, shape (m, features); deviations are without noise."""
        posterior = self.posterior(features)
        return Prediction(posterior.means, posterior.deviations)

    def posterior(self, features: Array) -> Posterior:
        """The joint posterior at m points, shape (m, features)."""
        covariance = self._covariance(features)
        with one_thread():
            explaining = covariance @ self._inverse
            means: Array = covariance @ self._weights
        return Posterior(features, means, covariance, explaining, self._found)

    def _covariance(self, points: Array) -> Array:
        """The covariance with the known points, shape (points, known)."""
        covariance = np.negative(self._distances.to(points))
        np.exp(covariance, out=covariance)
        covariance *= self._found.amplitude
        return covariance


class Posterior:
    """Means and variances of a Gaussian process at m points. ``expect`` adds observations.

    ``means`` have shape (m,) or (m, k). ``to_known`` is the points' covariance with the known
    points, shape (m, known); ``explaining`` is the same times the known points' inverse covariance.
    """

    def __init__(
        self,
        features: Array,
        means: Array,
        to_known: Array,
        explaining: Array,
        found: _Hyperparameters,
    ) -> None:
        self.means = means
        self._features = features
        self._to_known = to_known
        self._explaining = explaining
        self._found = found
        self._variances: Array = found.amplitude - np.einsum("ij,ij->i", explaining, to_known)
        self._factors: list[Array] = []
        self._apart: Array | None = None

    @property
    def deviations(self) -> Array:
        """Standard deviations without noise, shape (m,)."""
        deviations: Array = np.sqrt(np.maximum(self._variances, _JITTER))
        return deviations

    def expect(self, number: int) -> None:
        """Add an observation of a point that equals its mean: means stay, deviations shrink.

        This is one step of a Cholesky factorisation of the points' covariance.
        """
        if self._apart is None:  # kept, as making large arrays takes longer than filling them
            self._apart = np.empty_like(self._features)
        np.subtract(self._features, self._features[number], out=self._apart)
        np.abs(self._apart, out=self._apart)
        with one_thread():
            apart = self._apart @ (1 / self._found.scales)
            explained = self._explaining @ self._to_known[number]
        covariance = self._found.amplitude * np.exp(-apart)
        covariance -= explained
        for factor in self._factors:
            covariance -= factor * factor[number]
        factor = covariance / np.sqrt(max(float(covariance[number]), 0.0) + self._found.noise)
        self._factors.append(factor)
        self._variances = self._variances - factor**2


@dataclass(frozen=True)
class _Prior:
    """Of the logarithms of hyperparameters, which are independent and normal."""

    means: Array
    deviations: Array

    @classmethod
    def of(cls, scales: int, distance: float) -> _Prior:
        mean, deviation = _SCALE
        return cls(
            np.append(np.full(scales, mean + math.log(distance)), [_AMPLITUDE[0], _NOISE[0]]),
            np.append(np.full(scales, deviation), [_AMPLITUDE[1], _NOISE[1]]),
        )


def _apart(points: Array, groups: npt.NDArray[np.intp], count: int) -> Array:
    """The distances between points in each group of coordinates, shape (points, points, groups)."""
    apart = np.zeros((count, len(points), len(points)))
    for group, column in zip(groups.tolist(), points.T, strict=True):
        apart[group] += np.abs(column[:, None] - column[None, :])
    return np.moveaxis(apart, 0, 2)


def _log_posterior(
    found: _Hyperparameters, prior: _Prior, apart: Array, values: Array
) -> tuple[float, Array]:
    """The log posterior of the hyperparameters up to a constant, and its gradient.

    ``apart`` is as ``_apart`` makes it.
    """
    scales = np.exp(found.logs[:-2])
    signal = found.amplitude * np.exp(-(apart @ (1 / scales)))
    covariance = signal + found.noise * np.eye(len(values))
    sign, log_determinant = np.linalg.slogdet(covariance)
    if sign <= 0:
        return -np.inf, np.zeros_like(found.logs)
    inverse = np.linalg.inv(covariance)
    weights = inverse @ values
    likelihood = -0.5 * float(values @ weights) - 0.5 * float(log_determinant)
    # For each logarithm: half the trace of (w w^T - K^-1) dK/dlog.
    outer = np.outer(weights, weights) - inverse
    product = outer * signal
    gradient = np.empty_like(found.logs)
    gradient[:-2] = 0.5 * np.einsum("ij,ijk->k", product, apart, optimize=True) / scales
    gradient[-2] = 0.5 * product.sum()
    gradient[-1] = 0.5 * found.noise * np.trace(outer)
    beyond = (found.logs - prior.means) / prior.deviations
    return likelihood - 0.5 * float(beyond @ beyond), gradient - beyond / prior.deviations
