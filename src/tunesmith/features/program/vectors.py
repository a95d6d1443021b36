"""Loop contexts as vectors of a fixed length, for models.

All numbers are ``sign(x) log2(|x| + 1)``: what matters of a size is its ratio to others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from tunesmith.compiler.loop_nest import LoopNest
from tunesmith.features.kinds import FeatureKind
from tunesmith.features.program.context import ANNOTATIONS, LoopContext, loop_context

Array = npt.NDArray[np.float64]

# Of how many loops and buffers a vector tells; there are zeros for those that do not exist.
_LOOPS = 16
_BUFFERS = 5

THRESHOLDS: Array = np.exp2(1.5 * np.arange(1, 21))
"""The thresholds β of context relation features; the paper gives their spacing alone."""


def program_features(kind: FeatureKind, nest: LoopNest) -> Array:
    """The features of a program, shape (features,): for every program as many.

    ``kind`` is one of ``PROGRAM_FEATURES``.
    """
    return PROGRAM_FEATURES[kind](loop_context(nest))


def flat_loop_context(context: LoopContext) -> Array:
    """The rows of all loops, one after the other ("flattened AST" in figure 9).

    Shape (16 loops × (14 + 3 × 5 buffers),).
    """
    rows = np.column_stack(
        [
            _logs(np.column_stack([context.lengths, context.top_down, context.bottom_up])),
            context.annotations,
            *(
                _logs(_padded(each, _BUFFERS))
                for each in (context.touched, context.reuse, context.strides)
            ),
        ]
    )
    flat: Array = _padded(rows.T, _LOOPS).T.ravel()
    return flat


def context_relation(context: LoopContext) -> Array:
    """Relations between axes of the context (section 4): shape (5 buffers × 2 × 20,).

    For each buffer: the most reuse, and the largest product of outer lengths, among the loops that
    touch fewer elements of it than each threshold.
    """
    touched = _padded(context.touched, _BUFFERS)
    reuse = _padded(context.reuse, _BUFFERS)
    parts = [
        relation(touched[:, buffer], values)
        for buffer in range(_BUFFERS)
        for values in (reuse[:, buffer], context.top_down)
    ]
    return _logs(np.concatenate(parts))


def relation(of: Array, values: Array) -> Array:
    """R_t = max of ``values`` where ``of`` < β_t, 0 if there is none; shape (thresholds,).

    A buffer that a loop does not touch (``of`` is 0) says nothing of the loop.
    """
    counts = (of[:, None] < THRESHOLDS) & (of[:, None] > 0.0)
    most: Array = np.where(counts, values[:, None], 0.0).max(axis=0, initial=0.0)
    return most


PROGRAM_FEATURES: Mapping[FeatureKind, Callable[[LoopContext], Array]] = {
    "loop-context": flat_loop_context,
    "context-relation": context_relation,
}
"""The kinds of features of programs."""

FLAT_LENGTH = _LOOPS * (3 + len(ANNOTATIONS) + 3 * _BUFFERS)


def _padded(columns: Array, count: int) -> Array:
    """The first columns, shape (rows, count), with zeros for those that do not exist."""
    kept = columns[:, :count]
    return np.pad(kept, ((0, 0), (0, count - kept.shape[1])))


def _logs(values: Array) -> Array:
    logs: Array = np.sign(values) * np.log2(np.abs(values) + 1.0)
    return logs
