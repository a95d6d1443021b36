"""A post-op: an elementwise operation that follows others in the same kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.operators._base.arithmetic import Arithmetic
from tunesmith.operators._base.element_types import FLOAT_TYPES

Formula = Callable[..., Any]
"""``formula(arithmetic, value, *numbers)``, or ``formula(arithmetic, value, operand)``."""


class Operand(StrEnum):
    """The tensor that a post-op takes besides the value."""

    NONE = "none"
    ELEMENT = "element"
    """One number for each element of the result."""
    CHANNEL = "channel"
    """One number for each channel."""


@dataclass(frozen=True)
class PostOp:
    """The definition of a post-op.

    ``numbers`` are the names of its parameters and their defaults, None where there is none.
    ``operations`` is how many an element takes. ``growth`` of the same numbers is at least the
    formula's slope anywhere, for operands in [-1, 1]: by so much an error of the value may grow.
    Where the slope has no bound, ``growth`` is for values and operands in ``domain``, and the
    post-op cannot follow a product, whose results may be anywhere. An operand is called
    ``operand_name``. ``dtypes`` are the types of operators that it is for.
    """

    name: str
    summary: str
    formula: Formula
    operations: int
    numbers: tuple[tuple[str, float | None], ...] = ()
    operand: Operand = Operand.NONE
    operand_name: str = ""
    growth: Callable[..., float] = lambda *_: 1.0
    domain: tuple[float, float] = (-math.inf, math.inf)
    dtypes: tuple[str, ...] = FLOAT_TYPES

    @property
    def bounded(self) -> bool:
        """Whether errors of values grow by no more than ``growth`` anywhere."""
        return self.domain == (-math.inf, math.inf)

    @property
    def positive(self) -> bool:
        """Whether it is for positive values and operands alone."""
        return self.domain[0] > 0


@dataclass(frozen=True)
class AppliedPostOp:
    """A post-op with its numbers. As text ``clip:0:6``."""

    definition: PostOp
    numbers: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.numbers) != len(self.definition.numbers):
            raise UsageError(
                f"post-op {self.definition.name} takes {len(self.definition.numbers)} numbers, "
                f"not {len(self.numbers)}"
            )

    def apply(self, arithmetic: Arithmetic, value: Any, operand: Any | None = None) -> Any:
        """The result for a value; ``operand`` is there if the definition has one."""
        if self.definition.operand is not Operand.NONE:
            return self.definition.formula(arithmetic, value, operand)
        return self.definition.formula(arithmetic, value, *self.numbers)

    @property
    def growth(self) -> float:
        return self.definition.growth(*self.numbers)

    def check_dtype(self, operator: str, dtype: str) -> None:
        """Raises ``UsageError`` for an operator of a type that it is not for."""
        known = self.definition.dtypes
        if dtype not in known:
            raise UsageError(f"{operator}: post-op {self} is for {', '.join(known)}: not {dtype}")

    def __str__(self) -> str:
        return ":".join((self.definition.name, *map(_text, self.numbers)))


def _text(number: float) -> str:
    """A number without a plus sign, which separates post-ops."""
    whole = number.is_integer() and abs(number) < 1e15
    return str(int(number)) if whole else repr(number).replace("+", "")


def numbers_of(definition: PostOp, words: list[str]) -> tuple[float, ...]:
    """The numbers that words denote, defaults for those left out.

    Raises ``UsageError`` for what is no number, and for too many or too few.
    """
    if len(words) > len(definition.numbers):
        raise UsageError(
            f"post-op {definition.name} takes {len(definition.numbers)} numbers: {len(words)}"
        )
    found = []
    for (name, default), word in zip(
        definition.numbers, words + [""] * (len(definition.numbers) - len(words)), strict=True
    ):
        try:
            number = default if not word else float(word)
        except ValueError:
            number = math.nan
        if number is None:
            wanted = ":".join((definition.name, *(name for name, _ in definition.numbers)))
            raise UsageError(f"post-op {definition.name} lacks {name}: give {wanted}")
        if math.isnan(number):
            raise UsageError(f"post-op {definition.name}: {name} must be a number, not {word}")
        found.append(float(number))
    return tuple(found)
