"""The axes of a reduction."""

from __future__ import annotations

import math
from collections.abc import Sequence

Shape = tuple[int, ...]
Axes = tuple[int, ...]


def reduced_axes(shape: Shape, axes: Sequence[int] | None) -> Axes:
    """Those of ``axes`` that have several elements, in order; None stands for all axes."""
    chosen = range(len(shape)) if axes is None else (axis % len(shape) for axis in axes)
    return tuple(sorted(axis for axis in chosen if shape[axis] > 1))


def neighbouring(shape: Shape, axes: Axes) -> list[Axes]:
    """Axes in groups between which there are no others of several elements."""
    groups: list[Axes] = []
    for axis in axes:
        if groups and math.prod(shape[groups[-1][-1] + 1 : axis]) == 1:
            groups[-1] = (*groups[-1], axis)
        else:
            groups.append((axis,))
    return groups
