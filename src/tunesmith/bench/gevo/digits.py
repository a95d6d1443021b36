"""Handwritten digits, which come with scikit-learn."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tunesmith.errors import MissingDependencyError

Digits = tuple[Any, Any, Any, Any]
"""Images, shape (count, 1, 8, 8), from 0 to 1, and their classes: those to learn from, then those
to test with."""

# The share of all digits that no test of a search has, and of the others that is learned from.
_RESERVED, _LEARNED = 0.15, 0.8


@cache
def digits(seed: int, *, heldout: bool) -> Digits:
    """Some of them; which are to learn from depends on the seed. Those to test with are never seen
    otherwise where they are held out.

    Raises ``MissingDependencyError`` without scikit-learn.
    """
    reserved_x, reserved_y, x, y = divided(*all_digits(), 0, _RESERVED)
    found = divided(x, y, seed, _LEARNED)
    return (*found[:2], reserved_x, reserved_y) if heldout else found


def divided(x: Any, y: Any, seed: int, share: float) -> Digits:
    """A share of images and their classes, and the others; which are which depends on the seed."""
    order = np.random.default_rng(seed).permutation(len(y))
    first, others = np.split(order, [round(len(y) * share)])
    return x[first], y[first], x[others], y[others]


@cache
def all_digits() -> tuple[Any, Any]:
    """All of them. Raises ``MissingDependencyError`` without scikit-learn."""
    try:
        from sklearn import datasets
    except ImportError as error:
        raise MissingDependencyError(
            "this case needs scikit-learn: pip install 'tunesmith[evolve]'"
        ) from error
    images, classes = datasets.load_digits(return_X_y=True)
    return (images / 16.0).astype(np.float32).reshape(-1, 1, 8, 8), classes.astype(np.int64)
