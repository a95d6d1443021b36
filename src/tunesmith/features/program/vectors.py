"""Loop contexts as vectors of a fixed length, for models.

All numbers are ``sign(x) log2(|x| + 1)``: what matters of a size is its ratio to others. The
sketch's own estimate is a feature, too: the logarithm to base 2 of its seconds, and the numbers of
its parts; 0 without one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tunesmith.features.estimate_parts import PARTS
from tunesmith.features.kinds import LOOPS, FeatureKind
from tunesmith.features.program.context import ANNOTATIONS, LoopContext

Array = npt.NDArray[np.float64]

# Of how many buffers a vector tells; there are zeros for those that do not exist.
_BUFFERS = 5

_NO_PARTS = (0.0,) * len(PARTS)

THRESHOLDS: Array = np.exp2(1.5 * np.arange(1, 21))
"""The thresholds β of context relation features; the paper gives their spacing alone."""


def program_features(
    context: LoopContext, estimate: float | None = None, parts: Sequence[float] = _NO_PARTS
) -> Mapping[FeatureKind, Array]:
    """The features of a program by their kind, shape (features,): for every program as many.

    ``estimate`` is how many seconds its sketch thinks that a call takes, ``parts`` are the numbers
    of the estimate's ``Parts``.
    """
    seconds = math.log2(estimate) if estimate is not None and estimate > 0.0 else 0.0
    by_model = np.array([seconds, *parts])
    return {kind: of(context, by_model) for kind, of in PROGRAM_FEATURES.items()}


def flat_loop_context(context: LoopContext, by_model: Array) -> Array:
    """The rows of all loops, one after the other ("flattened AST" in figure 9).

    Shape (16 loops × (14 + 3 × 5 buffers + 8),). Each row ends with ``by_model``.
    """
    rows = np.column_stack(
        [
            _logs(np.column_stack([context.lengths, context.top_down, context.bottom_up])),
            context.annotations,
            *(
                _logs(_padded(each, _BUFFERS))
                for each in (context.touched, context.reuse, context.strides)
            ),
            np.tile(by_model, (len(context.lengths), 1)),
        ]
    )
    flat: Array = _padded(rows.T, LOOPS).T.ravel()
    return flat


def context_relation(context: LoopContext, by_model: Array) -> Array:
    """Relations between axes of the context (section 4): shape (5 buffers × 2 × 20 + 8,).

    For each buffer: the most reuse, and the largest product of outer lengths, among the loops that
    touch fewer elements of it than each threshold. The last ones are ``by_model``.
    """
    touched = _padded(context.touched, _BUFFERS)
    reuse = _padded(context.reuse, _BUFFERS)
    parts = [
        relation(touched[:, buffer], values)
        for buffer in range(_BUFFERS)
        for values in (reuse[:, buffer], context.top_down)
    ]
    return np.append(_logs(np.concatenate(parts)), by_model)


def relation(of: Array, values: Array) -> Array:
    """R_t = max of ``values`` where ``of`` < β_t, 0 if there is none; shape (thresholds,).

    A buffer that a loop does not touch (``of`` is 0) says nothing of the loop.
    """
    counts = (of[:, None] < THRESHOLDS) & (of[:, None] > 0.0)
    most: Array = np.where(counts, values[:, None], 0.0).max(axis=0, initial=0.0)
    return most


PROGRAM_FEATURES: Mapping[FeatureKind, Callable[[LoopContext, Array], Array]] = {
    "loop-context": flat_loop_context,
    "context-relation": context_relation,
}
"""The kinds of features of programs, of a context and of what a sketch estimates."""


_BY_MODEL = 1 + len(_NO_PARTS)
_ROW = 3 + len(ANNOTATIONS) + 3 * _BUFFERS + _BY_MODEL
ESTIMATE_COLUMNS: Mapping[str, npt.NDArray[np.intp]] = {
    "loop-context": (np.arange(1, LOOPS + 1)[:, None] * _ROW - np.arange(_BY_MODEL, 0, -1)).ravel(),
    "context-relation": np.arange(-_BY_MODEL, 0),
}
"""Where what the sketch estimates is among the features of each kind."""


def without_estimates(features: Array, kind: str) -> Array:
    """Features of programs of a kind, shape (configs, features), without what sketches estimate."""
    left: Array = np.delete(features, ESTIMATE_COLUMNS[kind], axis=1)
    return left


def _padded(columns: Array, count: int) -> Array:
    """The first columns, shape (rows, count), with zeros for those that do not exist."""
    padded = np.zeros((len(columns), count))
    kept = columns[:, :count]
    padded[:, : kept.shape[1]] = kept
    return padded


def _logs(values: Array) -> Array:
    logs: Array = np.sign(values) * np.log2(np.abs(values) + 1.0)
    return logs
