"""Types of tensors, and how a tensor of one shape takes the place of one of another.

Dimensions are aligned at the end ("GEVO-ML", figure 4). What is too large is cut to its middle,
what is too small gets zeros on both sides, missing dimensions in front are broadcast, and of those
that are too many the middle is taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

_TENSOR = re.compile(r"tensor<((?:\d+x)*)([a-z]+\d+)>")


@dataclass(frozen=True)
class Tensor:
    """A tensor of fixed shape; ``element`` is the name of the type of an element."""

    shape: tuple[int, ...]
    element: str

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """None for a type that is none, or has a dimension that is not known."""
        found = _TENSOR.fullmatch(text)
        if found is None:
            return None
        return cls(tuple(int(each) for each in found.group(1).split("x")[:-1]), found.group(2))

    def __str__(self) -> str:
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.element}>"

    @property
    def zero(self) -> str:
        """The number 0 of an element."""
        return "0.0" if self.element.startswith(("f", "bf")) else "0"


@dataclass(frozen=True)
class Step:
    """An operation of a repair: its name, its properties, the type that it makes; ``padding``
    means that it takes the zero of its type besides."""

    name: str
    properties: str
    result: Tensor
    padding: bool = False


def steps(source: Tensor, wanted: Tensor) -> list[Step]:
    """The operations that make a tensor of the ``wanted`` shape of another one with the same type
    of elements."""
    found: list[Step] = []
    extra = len(source.shape) - len(wanted.shape)
    current = source
    if extra > 0:
        middle = [size // 2 for size in current.shape[:extra]]
        start = [*middle, *[0] * (len(current.shape) - extra)]
        end = [*[each + 1 for each in middle], *current.shape[extra:]]
        current = Tensor((*[1] * extra, *current.shape[extra:]), current.element)
        found.append(Step("slice", _slice(start, end), current))
        current = Tensor(current.shape[extra:], current.element)
        found.append(Step("reshape", "", current))
    missing = len(wanted.shape) - len(current.shape)
    goal = wanted.shape[max(0, missing) :]
    cut = tuple(min(size, most) for size, most in zip(current.shape, goal, strict=True))
    if cut != current.shape:
        start = [(size - most) // 2 for size, most in zip(current.shape, cut, strict=True)]
        end = [first + most for first, most in zip(start, cut, strict=True)]
        current = Tensor(cut, current.element)
        found.append(Step("slice", _slice(start, end), current))
    if current.shape != goal:
        lack = [most - size for size, most in zip(current.shape, goal, strict=True)]
        low = [each // 2 for each in lack]
        high = [each - first for each, first in zip(lack, low, strict=True)]
        properties = (
            f"edge_padding_low = {_integers(low)}, edge_padding_high = {_integers(high)}, "
            f"interior_padding = {_integers([0] * len(lack))}"
        )
        current = Tensor(goal, current.element)
        found.append(Step("pad", properties, current, padding=True))
    if missing > 0:
        dimensions = range(missing, len(wanted.shape))
        found.append(
            Step("broadcast_in_dim", f"broadcast_dimensions = {_integers(dimensions)}", wanted)
        )
    return found


def _slice(start: Sequence[int], end: Sequence[int]) -> str:
    return (
        f"start_indices = {_integers(start)}, limit_indices = {_integers(end)}, "
        f"strides = {_integers([1] * len(start))}"
    )


def _integers(values: Sequence[int]) -> str:
    return f"array<i64: {', '.join(map(str, values))}>" if len(values) else "array<i64>"
