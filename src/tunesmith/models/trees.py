"""Ensembles of decision trees in NumPy: what XGBoost has learned, without XGBoost.

Every node of every tree is asked for every row, and then the answers on the way down are picked:
no step depends on one before. For trees of up to 6 levels that is faster than going down; for those
of a search, of 3 levels and a hundred rows at a time, it is faster than XGBoost, too, which takes
longer to look at what it is given than to predict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

# Rows that are asked at a time, so that what is in use stays in the cache.
_ROWS = 128

DEEPEST = 8
"""Levels of splits of trees, at most: the number of nodes to ask doubles with each."""

# Of thresholds and leaves in files: what float32 has.
_DIGITS = 9


@dataclass(frozen=True)
class Trees:
    """Trees whose predictions are added to ``offset``; all nodes in one array, each tree's first in
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
    missing_left: Bools
    depth: int

    @classmethod
    def of(cls, trees: Sequence[Mapping[str, Any]], offset: float = 0.0) -> Self:
        """Trees as XGBoost writes them as JSON.

        Raises ``ValueError`` for trees of more than ``DEEPEST`` levels of splits.
        """
        sizes = [len(tree["left_children"]) for tree in trees]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if sizes else np.empty(0)
        left, right = (
            _children([tree[side] for tree in trees], roots)
            for side in ("left_children", "right_children")
        )
        threshold = _joined([tree["split_conditions"] for tree in trees], np.float32)
        depth = max(
            (_depth(tree["left_children"], tree["right_children"]) for tree in trees), default=0
        )
        if depth > DEEPEST:
            raise ValueError(f"trees have at most {DEEPEST} levels of splits, not {depth}")
        return cls(
            offset,
            roots.astype(np.int32),
            _joined([tree["split_indices"] for tree in trees], np.int32),
            threshold,
            left,
            right,
            _joined([tree["default_left"] for tree in trees], np.int32).astype(np.bool_),
            depth,
        )

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``. Raises ``KeyError`` and the like for what is none."""
        return cls.of(content["trees"], float(content["offset"]))

    def scaled(self, scale: float, offset: float) -> Self:
        """These trees, where what they say counts ``scale`` times, with another ``offset``."""
        leaves = self.threshold * np.float32(scale)
        return replace(
            self, offset=offset, threshold=np.where(self._is_leaf, leaves, self.threshold)
        )

    def needs_only(self, columns: int) -> bool:
        """Whether they ask for nothing but the first so many features."""
        asked = self.feature[~self._is_leaf]
        return bool(((asked >= 0) & (asked < columns)).all())

    @property
    def _is_leaf(self) -> Bools:
        is_leaf: Bools = self.left == np.arange(len(self.left))
        return is_leaf

    def predict(self, features: Array | Floats) -> Array:
        """The predictions, shape (rows,), for features of shape (rows, features)."""
        sums = np.empty(len(features))
        for some, leaves in self._leaves_of_parts(features):
            sums[some] = np.ascontiguousarray(leaves.T).sum(axis=1, dtype=np.float64)
        return self.offset + sums

    def margins(self, features: Array | Floats, base: float) -> Floats:
        """What XGBoost predicts, to the last bit: ``base`` and, tree by tree, the leaves, added up
        in float32; shape (rows,). ``offset`` is not in it."""
        sums = np.empty(len(features), dtype=np.float32)
        for some, leaves in self._leaves_of_parts(features):
            # NumPy would add a single column up in another order: then there are two.
            columns = np.repeat(leaves, 2, axis=1) if leaves.shape[1] == 1 else leaves
            added = np.add.reduce(columns, axis=0, dtype=np.float32, initial=np.float32(base))
            sums[some] = added[: leaves.shape[1]]
        return sums

    def _leaves_of_parts(self, features: Array | Floats) -> Iterator[tuple[slice, Floats]]:
        """``_leaves`` of some rows after the others."""
        for first in range(0, len(features), _ROWS):
            some = slice(first, first + _ROWS)
            yield some, self._leaves(features[some])

    def _leaves(self, features: Array | Floats) -> Floats:
        """The values of the leaves that rows end in, shape (trees, rows)."""
        with np.errstate(over="ignore"):  # what is above all float32 counts as infinite
            columns = np.ascontiguousarray(features.T, dtype=np.float32)
        missing = np.isnan(columns)
        any_missing = missing.any()
        levels, leaves = self._by_level
        trees, rows = leaves.shape[0], len(features)
        numbers = np.zeros((trees, rows), dtype=np.uint16)  # enough for 16 levels
        turns: list[Bools] = []  # whether a row goes left, by level
        for nodes in levels:
            asked = self.feature[nodes]
            goes_left = columns.take(asked, axis=0) < self.threshold[nodes, None]
            if any_missing:
                goes_left |= missing.take(asked, axis=0) & self.missing_left[nodes, None]
            answers = goes_left.reshape(-1, trees, rows)
            for turned_left in turns:
                half = len(answers) // 2
                left, right = answers[:half], answers[half:]
                # Those of the left half where a row turned left, as ``np.where``, but faster.
                answers = right ^ ((left ^ right) & turned_left)
            turns.append(answers[0])
            numbers <<= 1
            numbers |= ~answers[0]
        places = numbers + np.arange(0, leaves.size, leaves.shape[1])[:, None]
        return leaves.ravel().take(places)

    @cached_property
    def _by_level(self) -> tuple[list[Numbers], Floats]:
        """The nodes of each level, one after the other, and the leaves, shape (trees, leaves).

        All trees are as deep as the deepest: below a leaf is the leaf. The number of a way down has
        a bit for each turn, 1 for right, the first turn's highest. A level has all trees' nodes
        at the end of way 0, then those of way 1, and so on.
        """
        nodes = self.roots[None, :]
        levels = []
        for _ in range(self.depth):
            levels.append(nodes.ravel())
            nodes = np.stack([self.left[nodes], self.right[nodes]], axis=1)
            nodes = nodes.reshape(-1, len(self.roots))
        return levels, np.ascontiguousarray(self.threshold[nodes].T)

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
