"""Ensembles of decision trees in NumPy: what XGBoost has learned, without XGBoost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int32]

# Rows that go down all trees at a time, so that what is in use stays in the cache.
_ROWS = 128

# Of thresholds and leaves in files: what float32 has.
_DIGITS = 9


@dataclass(frozen=True)
class Trees:
    """Trees whose predictions add up to ``offset``; all nodes in one array, each tree's first in
    ``roots``.

    A row goes left where its ``feature`` is below ``threshold``, and by ``missing_left`` where it
    is NaN. ``left`` and ``right`` are numbers of nodes; a leaf is its own child, and its
    ``threshold`` is its value. ``depth`` is the longest way down.
    """

    offset: float
    roots: Numbers
    feature: Numbers
    threshold: Floats
    left: Numbers
    right: Numbers
    missing_left: npt.NDArray[np.bool_]
    depth: int

    @classmethod
    def of(
        cls, trees: Sequence[Mapping[str, Any]], offset: float = 0.0, scale: float = 1.0
    ) -> Self:
        """Trees as XGBoost writes them as JSON. What they say counts ``scale`` times."""
        sizes = [len(tree["left_children"]) for tree in trees]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if sizes else np.empty(0)
        left, right = (
            _children([tree[side] for tree in trees], roots)
            for side in ("left_children", "right_children")
        )
        threshold = _joined([tree["split_conditions"] for tree in trees], np.float32)
        is_leaf = left == np.arange(len(left))
        return cls(
            offset,
            roots.astype(np.int32),
            _joined([tree["split_indices"] for tree in trees], np.int32),
            np.where(is_leaf, threshold * np.float32(scale), threshold),
            left,
            right,
            _joined([tree["default_left"] for tree in trees], np.int32).astype(np.bool_),
            max(
                (_depth(tree["left_children"], tree["right_children"]) for tree in trees), default=0
            ),
        )

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``. Raises ``KeyError`` and the like for what is none."""
        return cls.of(content["trees"], float(content["offset"]))

    def needs_only(self, columns: int) -> bool:
        """Whether they ask for nothing but the first so many features."""
        asked = self.feature[self.left != np.arange(len(self.left))]
        return bool(((asked >= 0) & (asked < columns)).all())

    def predict(self, features: Array | Floats) -> Array:
        """The predictions, shape (rows,), for features of shape (rows, features)."""
        rows = features.astype(np.float32)
        sums = np.empty(len(rows))
        for first in range(0, len(rows), _ROWS):
            sums[first : first + _ROWS] = self._predict(rows[first : first + _ROWS])
        return self.offset + sums

    def _predict(self, rows: Floats) -> Array:
        count, width = rows.shape
        flat = rows.ravel()
        starts = (np.arange(count, dtype=np.int32) * width)[:, None]
        nodes = np.broadcast_to(self.roots, (count, len(self.roots)))
        for _ in range(self.depth):
            values = flat[starts + self.feature[nodes]]
            goes_left = values < self.threshold[nodes]
            missing = np.isnan(values)
            if missing.any():
                goes_left |= missing & self.missing_left[nodes]
            nodes = np.where(goes_left, self.left[nodes], self.right[nodes])
        sums: Array = self.threshold[nodes].sum(axis=1, dtype=np.float64)
        return sums

    def to_json(self) -> dict[str, Any]:
        """JSON-ready, with as many digits as float32 has."""
        firsts = self.roots.tolist()
        ends = [*firsts, len(self.feature)][1:]
        trees = [self._tree(first, end) for first, end in zip(firsts, ends, strict=True)]
        return {"offset": self.offset, "trees": trees}

    def _tree(self, first: int, end: int) -> dict[str, list[Any]]:
        own = np.arange(first, end)
        is_leaf = self.left[first:end] == own
        return {
            "left_children": np.where(is_leaf, -1, self.left[first:end] - first).tolist(),
            "right_children": np.where(is_leaf, -1, self.right[first:end] - first).tolist(),
            "split_indices": self.feature[first:end].tolist(),
            "split_conditions": [
                float(f"{value:.{_DIGITS}g}") for value in self.threshold[first:end].tolist()
            ],
            "default_left": self.missing_left[first:end].astype(np.int32).tolist(),
        }


def _joined(parts: Sequence[Sequence[Any]], dtype: type) -> npt.NDArray[Any]:
    return np.array([each for part in parts for each in part], dtype=dtype)


def _children(parts: Sequence[Sequence[int]], roots: Array) -> Numbers:
    """The numbers of children among all nodes; those of leaves are the leaves."""
    every = [
        root + (child if child >= 0 else own)
        for part, root in zip(parts, roots.tolist(), strict=True)
        for own, child in enumerate(part)
    ]
    return np.array(every, dtype=np.int32)


def _depth(left: Sequence[int], right: Sequence[int]) -> int:
    """The longest way down from the first node; parents come before their children."""
    levels = [0] * len(left)
    for node, children in enumerate(zip(left, right, strict=True)):
        for child in children:
            if child >= 0:
                levels[child] = levels[node] + 1
    return max(levels)
