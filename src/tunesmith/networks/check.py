"""Compares a compiled network with the framework that it is from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tunesmith.errors import TunesmithError
from tunesmith.kernel import arrays
from tunesmith.networks.graph import Array
from tunesmith.operators import Argument

Source = Callable[[Sequence[Array]], Sequence[Array]]
"""What the framework computes of inputs: the results in order."""


class SourceError(TunesmithError):
    """The framework cannot compute the network."""


LIMIT = 1e-3
"""The largest relative error that a build may have by default."""


def random_inputs(
    arguments: Sequence[Argument], bounds: Mapping[str, int] | None = None, seed: int = 0
) -> list[Array]:
    """Inputs of these shapes: normal numbers, 0 and 1 for integers.

    Those that are indices have a bound, by their names: they are drawn from all below it. All are
    aligned, so that calls with them copy nothing.
    """
    rng, known = np.random.default_rng(seed), bounds or {}
    return [_random(argument, known.get(argument.name, 2), rng) for argument in arguments]


def _random(argument: Argument, bound: int, rng: np.random.Generator) -> Array:
    array: Array = arrays.aligned_bytes(argument.bytes).view(argument.numpy_dtype)
    array = array.reshape(argument.shape)
    if argument.numpy_dtype.kind in "iub":
        array[...] = rng.integers(0, bound, argument.shape)
    else:
        array[...] = rng.standard_normal(argument.shape)
    return array


def relative_error(found: Sequence[Array], expected: Sequence[Array]) -> float:
    """The largest difference, as a share of the largest finite number of the same result.

    Infinite where one has a NaN that the other has not.
    """
    errors = [0.0]
    for ours, theirs in zip(found, expected, strict=True):
        if not np.array_equal(np.isnan(ours), np.isnan(theirs)):
            return float("inf")
        largest = np.max(np.abs(theirs), where=np.isfinite(theirs), initial=0.0)
        with np.errstate(invalid="ignore"):  # the difference of two infinities
            difference = np.nanmax(np.abs(ours.astype(np.float64) - theirs), initial=0.0)
        errors.append(float(difference / largest if largest else difference))
    return max(errors)


def check(
    compiled: Callable[..., Array | tuple[Array, ...]],
    source: Source,
    inputs: Sequence[Array],
    limit: float = LIMIT,
) -> float:
    """The relative error of a compiled network on inputs.

    Raises ``TunesmithError`` if it is above the limit, and like the source.
    """
    result = compiled(*inputs)
    error = relative_error(result if isinstance(result, tuple) else [result], source(inputs))
    if not error <= limit:
        raise TunesmithError(
            f"the compiled network differs from its source by {error:.2g} of the largest result, "
            f"and at most {limit:g} is allowed: please report the network"
        )
    return error
