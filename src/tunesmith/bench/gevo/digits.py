"""Handwritten digits, which come with scikit-learn."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tunesmith.errors import MissingDependencyError


@cache
def digits(seed: int, learned: float = 2 / 3) -> tuple[Any, Any, Any, Any]:
    """Images, shape (count, 1, 8, 8), from 0 to 1, and their classes: first the share
    ``learned``, to learn from, then the others. Which are which depends on the seed.

    Raises ``MissingDependencyError`` without scikit-learn.
    """
    try:
        from sklearn import datasets
    except ImportError as error:
        raise MissingDependencyError(
            "this case needs scikit-learn: pip install 'tunesmith[evolve-models]'"
        ) from error
    images, classes = datasets.load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(classes))
    x = (images[order] / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
    y = classes[order].astype(np.int64)
    split = round(len(y) * learned)
    return x[:split], y[:split], x[split:], y[split:]
