"""Means over images as pooling, and reductions over scattered axes as several ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tunesmith.networks.axes import neighbouring, reduced_axes
from tunesmith.networks.graph import Node, Rewriting, Value
from tunesmith.networks.simplify.making import average_pool, reduction, reshape

_REDUCTIONS = ("max", "mean", "min", "sum")


def means_as_pooling(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """Adaptive pooling whose windows are alike, and means over height and width."""
    if not node.inputs or len(node.inputs[0].shape) not in (3, 4):
        return None
    (data,) = node.inputs[:1]
    if node.op in ("nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d"):
        windows = [
            regular_windows(*sizes)
            for sizes in zip(data.shape[2:], node.output.shape[2:], strict=True)
        ]
        if node.attributes["layout"] not in ("NCHW", "NCW") or None in windows:
            return None
        known = [window for window in windows if window is not None]
        row = [(1, 1)] * (2 - len(known))
        images = reshape(rewriting, data, (*data.shape[:2], *(1 for _ in row), *data.shape[2:]))
        (high, down), (wide, across) = (*row, *known)
        pooled = average_pool(rewriting, images, (high, wide), (down, across))
        return [reshape(rewriting, pooled, node.output.shape)]
    if node.op == "mean" and len(data.shape) == 4:
        axes = node.attributes["axis"]
        if axes is None or sorted(axis % 4 for axis in axes) != [2, 3]:
            return None
        pooled = average_pool(rewriting, data, data.shape[2:], data.shape[2:])
        return [reshape(rewriting, pooled, node.output.shape)]
    return None


def regular_windows(size: int, count: int) -> tuple[int, int] | None:
    """The length and the step of the windows of adaptive pooling along an axis; None if they are
    not all alike, as far apart as their neighbours, and inside of ``pool2d``'s rules."""
    starts = [number * size // count for number in range(count)]
    ends = [-(-(number + 1) * size // count) for number in range(count)]
    lengths = {end - start for start, end in zip(starts, ends, strict=True)}
    steps = {after - start for start, after in pairwise(starts)}
    if len(lengths) > 1 or len(steps) > 1:
        return None
    length = lengths.pop()
    step = steps.pop() if steps else length
    return (length, step) if step else None


def split_reductions(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """A reduction over groups of axes with others between them, as one for each group, the last
    one first. A mean of means is a mean: all are of equally many elements."""
    if node.op not in _REDUCTIONS or not node.inputs:
        return None
    (data,) = node.inputs
    axes = reduced_axes(data.shape, node.attributes["axis"])
    if not axes:
        return [reshape(rewriting, data, node.output.shape)]
    groups = neighbouring(data.shape, axes)
    if len(groups) == 1:
        return None
    for group in reversed(groups):
        data = reduction(rewriting, node.op, data, group)
    return [reshape(rewriting, data, node.output.shape)]
