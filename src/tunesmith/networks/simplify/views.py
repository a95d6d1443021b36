"""Reshapes, permutations of axes and parts of tensors: one copy in place of several, or none."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tunesmith.networks.graph import RESHAPES, Node, Rewriting, Value
from tunesmith.networks.simplify.making import permuted, reshape, sliced


@dataclass(frozen=True)
class View:
    """A tensor whose elements are some of those of ``base``, in any order.

    ``axes`` are its extents, and by how many elements of the base a step along each moves; the
    first element is ``offset`` elements into the base.
    """

    base: Value
    offset: int
    axes: tuple[tuple[int, int], ...]

    @staticmethod
    def whole(base: Value) -> View:
        """All of a tensor as it is."""
        return View(base, 0, _in_order(base.shape))

    @property
    def is_base(self) -> bool:
        """Whether all elements are where they are in the base."""
        extents = tuple(extent for extent, _ in self.axes if extent > 1)
        moving = tuple(axis for axis in self.axes if axis[0] > 1)
        return moving == _in_order(extents) and math.prod(extents) == self.base.elements

    def reshaped(self, shape: tuple[int, ...]) -> View | None:
        """The same elements in the same order in another shape; None if that takes a copy.

        Axes that follow each other in the base are one axis; those of the shape are parts of them.
        """
        merged = self.merged().axes
        found: list[tuple[int, int]] = []
        left = list(merged)
        for extent in reversed(shape):
            if extent == 1:
                found.append((1, 1))
                continue
            if not left or left[-1][0] % extent:
                return None
            whole, step = left.pop()
            found.append((extent, step))
            if whole > extent:
                left.append((whole // extent, step * extent))
        return replace(self, axes=tuple(reversed(found)))

    def permuted(self, order: Sequence[int]) -> View:
        """With the axes in another order."""
        return replace(self, axes=tuple(self.axes[axis] for axis in order))

    def part(self, axis: int, first: int, extent: int) -> View:
        """With ``extent`` elements of an axis, from the ``first`` on."""
        _, step = self.axes[axis]
        axes = (*self.axes[:axis], (extent, step), *self.axes[axis + 1 :])
        return replace(self, offset=self.offset + first * step, axes=axes)

    def without(self, axis: int) -> View:
        """Without an axis, of which there is one element."""
        return replace(self, axes=self.axes[:axis] + self.axes[axis + 1 :])

    def merged(self) -> View:
        """With neighbouring axes as one where they follow each other in the base, too."""
        found: list[tuple[int, int]] = []
        for extent, step in self.axes:
            if extent == 1:
                continue
            if found and found[-1][1] == extent * step:
                found[-1] = (found[-1][0] * extent, step)
            else:
                found.append((extent, step))
        return replace(self, axes=tuple(found))

    def copied(self, rewriting: Rewriting, shape: tuple[int, ...]) -> Value | None:
        """The elements as a tensor of a shape: a part of the base, permuted.

        None where the base has no axes of which that is a part.
        """
        axes = self.merged().axes
        steps = sorted((step for _, step in axes), reverse=True)
        steps = steps if steps and steps[-1] == 1 else [*steps, 1]
        sizes = (self.base.elements, *steps)
        if any(whole % step for whole, step in itertools.pairwise(sizes)):
            return None
        extents = {step: extent for extent, step in axes}
        nested = [whole // step for whole, step in itertools.pairwise(sizes)]
        first = [self.offset // step % size for size, step in zip(nested, steps, strict=True)]
        wanted = [extents.get(step, 1) for step in steps]
        ends = [begin + extent for begin, extent in zip(first, wanted, strict=True)]
        if len(extents) < len(axes) or any(
            end > size for end, size in zip(ends, nested, strict=True)
        ):
            return None
        value = reshape(rewriting, self.base, tuple(nested))
        value = sliced(rewriting, value, tuple(first), tuple(ends))
        moved = [steps.index(step) for _, step in axes]
        order = tuple(moved + [place for place in range(len(steps)) if place not in moved])
        return reshape(rewriting, permuted(rewriting, value, order), shape)


def join_views(node: Node, rewriting: Rewriting) -> Sequence[Value] | None:
    """What is taken of a tensor step by step, at once: in one copy, or in none."""
    if node.op not in _VIEWS or node.inputs[0].constant is not None:
        return None
    data = node.inputs[0]
    views = _views(node, view_of(data, rewriting))
    shapes = [value.shape for value in node.outputs]
    before = rewriting.producer(data)
    if views is not None and all(view.is_base for view in views):
        parts = zip(views, shapes, strict=True)
        return [reshape(rewriting, view.base, shape) for view, shape in parts]
    if before is None or before.op not in _VIEWS:
        return None
    if node.op in RESHAPES:  # of a copy, which others may read, too
        source = before.inputs[0] if before.op in RESHAPES else data
        return [reshape(rewriting, source, node.output.shape)]
    found = [
        view.copied(rewriting, shape) for view, shape in zip(views or (), shapes, strict=False)
    ]
    known = [value for value in found if value is not None]
    return known if len(known) == len(shapes) else None


def view_of(value: Value, rewriting: Rewriting) -> View:
    """What a value is of the tensor that it is taken of, by way of several operations or none."""
    producer = rewriting.producer(value)
    if producer is None or producer.op not in _VIEWS:
        return View.whole(value)
    views = _views(producer, view_of(producer.inputs[0], rewriting))
    return View.whole(value) if views is None else views[producer.outputs.index(value)]


# -- operations -----------------------------------------------------------------------------------


def _views(node: Node, data: View) -> Sequence[View] | None:
    """The outputs of an operation on a view, as views; None if they are none."""
    return _VIEWS[node.op](node, data)


def _reshaped(node: Node, data: View) -> Sequence[View] | None:
    view = data.reshaped(node.output.shape)
    return None if view is None else [view]


def _permuted(node: Node, data: View) -> Sequence[View]:
    dimensions = len(data.axes)
    order = node.attributes["axes"] or reversed(range(dimensions))
    return [data.permuted([axis % dimensions for axis in order])]


def _sliced(node: Node, data: View) -> Sequence[View]:
    given = node.attributes
    for axis, (first, end) in enumerate(zip(given["first"], given["ends"], strict=True)):
        data = data.part(axis, first, end - first)
    return [data]


def _split(node: Node, data: View) -> Sequence[View]:
    axis = node.attributes["axis"] % len(data.axes)
    extents = [value.shape[axis] for value in node.outputs]
    starts = itertools.accumulate(extents, initial=0)
    return [data.part(axis, *part) for part in zip(starts, extents, strict=False)]


def _taken(node: Node, data: View) -> Sequence[View] | None:
    """The elements at one index of an axis."""
    index, axis = node.inputs[1].constant, node.attributes["axis"]
    if index is None or index.ndim or axis is None:
        return None
    axis %= len(data.axes)
    extent, _ = data.axes[axis]
    return [data.part(axis, int(index) % extent, 1).without(axis)]


_VIEWS: Mapping[str, Callable[[Node, View], Sequence[View] | None]] = {
    **dict.fromkeys(RESHAPES, _reshaped),
    "permute_dims": _permuted,
    "sliced": _sliced,
    "split": _split,
    "take": _taken,
}


def _in_order(shape: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The axes of a tensor in memory, the last one's elements side by side."""
    steps = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return tuple(zip(shape, steps, strict=True))
