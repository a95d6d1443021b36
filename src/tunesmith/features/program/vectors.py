"""Loop contexts as vectors of a fixed length, for models.

All numbers are ``sign(x) log2(|x| + 1)``: what matters of a size is its ratio to others. The
sketch's own estimate is a feature, too: the logarithm to base 2 of its seconds, 0 without one.
"""

from __future__ import annotations

import math
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


def program_features(nest: LoopNest, estimate: float | None = None) -> Mapping[FeatureKind, Array]:
    """The features of a program by their kind, shape (features,): for every program as many.

    ``estimate`` is how many seconds its sketch thinks that a call takes.
    """
    context = loop_context(nest)
    by_model = math.log2(estimate) if estimate is not None and estimate > 0.0 else 0.0
    return {kind: of(context, by_model) for kind, of in PROGRAM_FEATURES.items()}


def flat_loop_context(context: LoopContext, by_model: float) -> Array:
    """The rows of all loops, one after the other ("flattened AST" in figure 9).

    Shape (16 loops × (15 + 3 × 5 buffers),). The last one of each row is ``by_model``.
    """
    rows = np.column_stack(
        [
            _logs(np.column_stack([context.lengths, context.top_down, context.bottom_up])),
            context.annotations,
            *(
                _logs(_padded(each, _BUFFERS))
                for each in (context.touched, context.reuse, context.strides)
            ),
            np.full(len(context.lengths), by_model),
        ]
    )
    flat: Array = _padded(rows.T, _LOOPS).T.ravel()
    return flat


def context_relation(context: LoopContext, by_model: float) -> Array:
    """Relations between axes of the context (section 4): shape (5 buffers × 2 × 20 + 1,).

    For each buffer: the most reuse, and the largest product of outer lengths, among the loops that
    touch fewer elements of it than each threshold. The last one is ``by_model``.
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


PROGRAM_FEATURES: Mapping[FeatureKind, Callable[[LoopContext, float], Array]] = {
    "loop-context": flat_loop_context,
    "context-relation": context_relation,
}
"""The kinds of features of programs, of a context and the logarithm of what a sketch estimates."""


_ROW = 3 + len(ANNOTATIONS) + 3 * _BUFFERS + 1
ESTIMATE_COLUMNS: Mapping[str, slice] = {
    "loop-context": slice(_ROW - 1, None, _ROW),
    "context-relation": slice(-1, None),
}
"""Where the sketch's own estimate is among the features of each kind."""


def _padded(columns: Array, count: int) -> Array:
    """The first columns, shape (rows, count), with zeros for those that do not exist."""
    kept = columns[:, :count]
    return np.pad(kept, ((0, 0), (0, count - kept.shape[1])))


def _logs(values: Array) -> Array:
    logs: Array = np.sign(values) * np.log2(np.abs(values) + 1.0)
    return logs
