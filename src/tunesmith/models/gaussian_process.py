"""A Gaussian process over points whose coordinates come in groups, with NumPy alone.

The kernel is made of exponential ones, one a group: ``k_g = exp(-sum_j |x_j - y_j| / scale_j)``
over the coordinates of the group. Functions of it are rough, as speeds over the parameters of a
program are, and a coordinate that does not matter gets a long scale. The covariance is ``separate *
mean_g(k_g) + joint * product_g(k_g)``: what groups do each for themselves is learnt from a few
points, what they do together from many (the first and the last order of Duvenaud, Nickisch and
Rasmussen, "Additive Gaussian Processes", 2011).

Scales, amplitudes and noise are those that are most probable given the data and wide log-normal
priors, found by Adam steps along the exact gradient (Rasmussen and Williams, "Gaussian Processes
for Machine Learning", 2006, equations 2.25, 2.26 and 5.9).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import threadpoolctl

Array = npt.NDArray[np.float64]

_JITTER = 1e-8

# Priors over the logarithms: their means and standard deviations. Coordinates are meant to span
# [0, 1] and values to have unit variance, so a scale of 1 is neither rough nor flat.
_SCALE = (0.0, 1.0)
_AMPLITUDE = (float(np.log(0.5)), 1.0)
_NOISE = (float(np.log(1e-2)), 1.5)

# What follows the scales in the vector of hyperparameters: both amplitudes and the noise.
_OTHERS = (_AMPLITUDE, _AMPLITUDE, _NOISE)

# Adam's usual constants, but for a shorter memory: there are few steps.
_STEP, _MOMENTUM, _SQUARES, _TINY = 0.2, 0.8, 0.95, 1e-9


@dataclass(frozen=True)
class _Hyperparameters:
    """The logarithms: of a scale for each coordinate, of both amplitudes and of the noise."""

    logs: Array

    @property
    def scales(self) -> Array:
        return np.exp(self.logs[:-3])

    @property
    def joint(self) -> float:
        return float(np.exp(self.logs[-3]))

    @property
    def separate(self) -> float:
        return float(np.exp(self.logs[-2]))

    @property
    def noise(self) -> float:
        return float(np.exp(self.logs[-1])) + _JITTER


class GaussianProcess:
    """Predicts values at points from values at others.

    ``groups`` says of each coordinate which group it belongs to: 0 for the first ones, 1 for those
    after them, and so on.

    ``fit`` finds the hyperparameters, beginning with those found last; ``condition`` says what is
    known; ``predict`` gives means and standard deviations.
    """

    def __init__(self, groups: Sequence[int]) -> None:
        self._groups = np.array(groups, dtype=np.intp)
        means, _ = _priors(len(groups))
        self._found = _Hyperparameters(means)
        self._points: Array = np.empty((0, len(groups)))
        self._inverse: Array = np.empty((0, 0))
        self._weights: Array = np.empty(0)

    def fit(self, points: Array, values: Array, steps: int = 8) -> None:
        """Adapt the hyperparameters to values, shape (n,), at points, shape (n, coordinates).

        Takes time in proportion to ``steps * n**2 * (n + coordinates)``.
        """
        with _one_thread():
            self._found = self._ascended(points, values, steps)

    def _ascended(self, points: Array, values: Array, steps: int) -> _Hyperparameters:
        apart = np.abs(points.T[:, :, None] - points.T[:, None, :])
        logs = self._found.logs
        best, best_objective = logs, -np.inf
        momentum: Array = np.zeros_like(logs)
        squares: Array = np.zeros_like(logs)
        for step in range(1, steps + 2):
            found = _Hyperparameters(logs)
            objective, gradient = _log_posterior(found, self._groups, apart, values)
            if objective > best_objective:
                best, best_objective = logs, objective
            if not np.isfinite(objective):
                break
            momentum = _MOMENTUM * momentum + (1 - _MOMENTUM) * gradient
            squares = _SQUARES * squares + (1 - _SQUARES) * gradient**2
            size = np.sqrt(squares / (1 - _SQUARES**step)) + _TINY
            logs = logs + _STEP * momentum / (1 - _MOMENTUM**step) / size
        return _Hyperparameters(best)

    def condition(self, points: Array, values: Array) -> None:
        """Take values at points for known; replaces what was known before."""
        covariance = self._covariance(points, points)
        covariance.flat[:: len(points) + 1] += self._found.noise
        self._points = points
        with _one_thread():
            self._inverse = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
            self._weights = self._inverse @ values

    def predict(self, points: Array) -> tuple[Array, Array]:
        """The mean and the standard deviation at each of the points, without noise."""
        covariance = self._covariance(points, self._points)
        with _one_thread():
            explained = np.einsum("ij,ij->i", covariance @ self._inverse, covariance)
            means: Array = covariance @ self._weights
        variance = np.maximum(self._found.joint + self._found.separate - explained, _JITTER)
        return means, np.sqrt(variance)

    def _covariance(self, one: Array, other: Array) -> Array:
        found = self._found
        one, other = one / found.scales, other / found.scales
        product = np.zeros((len(one), len(other)))  # of the kernels, as a sum of their exponents
        mean = np.zeros_like(product)
        for start, end in itertools.pairwise([*_starts(self._groups), len(self._groups)]):
            distance = np.abs(one[:, start, None] - other[None, :, start])
            for number in range(start + 1, end):
                distance += np.abs(one[:, number, None] - other[None, :, number])
            product -= distance
            mean += np.exp(-distance)
        mean *= found.separate / max(1, len(_starts(self._groups)))
        covariance: Array = found.joint * np.exp(product) + mean
        return covariance


def _starts(groups: npt.NDArray[np.intp]) -> list[int]:
    """Where each group begins."""
    return [int(start) for start in np.unique(groups, return_index=True)[1]]


def _log_posterior(
    found: _Hyperparameters, groups: npt.NDArray[np.intp], apart: Array, values: Array
) -> tuple[float, Array]:
    """The logarithm of the posterior of the hyperparameters, but for a constant; its gradient.

    ``apart`` are the distances along each coordinate, shape (coordinates, n, n).
    """
    distances = apart / found.scales[:, None, None]
    exponents = np.add.reduceat(distances, _starts(groups), axis=0)
    joint = found.joint * np.exp(-exponents.sum(axis=0))
    parts = found.separate / len(exponents) * np.exp(-exponents)
    separate = parts.sum(axis=0)
    covariance = joint + separate + found.noise * np.eye(len(values))
    sign, log_determinant = np.linalg.slogdet(covariance)
    if sign <= 0:
        return -np.inf, np.zeros_like(found.logs)
    inverse = np.linalg.inv(covariance)
    weights = inverse @ values
    likelihood = -0.5 * float(values @ weights) - 0.5 * float(log_determinant)
    # Of each logarithm, half the trace of (w w^T - K^-1) dK/dlog.
    outer = np.outer(weights, weights) - inverse
    by_group = outer * (joint + parts)
    gradient = np.empty_like(found.logs)
    for number, group in enumerate(groups):
        gradient[number] = 0.5 * np.vdot(by_group[group], distances[number])
    gradient[-3] = 0.5 * np.vdot(outer, joint)
    gradient[-2] = 0.5 * np.vdot(outer, separate)
    gradient[-1] = 0.5 * found.noise * np.trace(outer)
    means, deviations = _priors(len(groups))
    beyond = (found.logs - means) / deviations
    return likelihood - 0.5 * float(beyond @ beyond), gradient - beyond / deviations


def _priors(coordinates: int) -> tuple[Array, Array]:
    """Means and standard deviations of the logarithms of all hyperparameters."""
    means, deviations = np.array([_SCALE] * coordinates + list(_OTHERS)).T
    return means, deviations


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Around algebra of small matrices: threads slow it down, and whatever is being measured."""
    with _algebra_libraries().limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _algebra_libraries() -> threadpoolctl.ThreadpoolController:
    return threadpoolctl.ThreadpoolController()
