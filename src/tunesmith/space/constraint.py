"""Constraints on the configs of a space: expressions, or predicates in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from tunesmith.errors import SpaceError
from tunesmith.space.columns import Array, Frame
from tunesmith.space.expressions.expression import Expression
from tunesmith.space.value import Value, quote


@dataclass(frozen=True)
class Constraint:
    """A condition on parameters in a small, safe subset of Python: ``tile[2] * threads <= 1024``.

    It may use parameters' names, parts of tuples (``tile[2]``), numbers, strings, ``True`` and
    ``False``, lists of these (for ``in``), arithmetic, comparisons, ``and``/``or``/``not``, ``in``,
    ``abs``, ``len``, ``max`` and ``min``. Raises SpaceError for anything else, and for an
    expression that reads no parameter.
    """

    expression: str

    def __post_init__(self) -> None:
        if not self.names:
            raise SpaceError(f"constraint {quote(self.expression)} reads no parameter: remove it")

    @staticmethod
    def of(
        names: Sequence[str], function: Callable[..., object], label: str = "predicate"
    ) -> Predicate:
        """The constraint that ``function`` is true for the values of ``names``, in this order.

        It is slower than an expression, and its space cannot be written as JSON. Raises SpaceError
        for a text in place of a list of names, and for no names.
        """
        if isinstance(names, str):
            raise SpaceError(
                f"constraint {quote(label)} reads {quote(names)}: give a list of names"
            )
        return Predicate(label, tuple(names), function)

    @cached_property
    def _compiled(self) -> Expression:
        return Expression(self.expression)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters it reads."""
        return self._compiled.names

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Whether it holds for these values. Raises SpaceError if it cannot be evaluated."""
        return bool(self._compiled.evaluate(values))

    def holds_columns(self, frame: Frame, bounds: Mapping[str, float]) -> Array | None:
        """Whether it holds, row by row; None if only ``holds`` can evaluate it.

        ``bounds`` is the largest absolute value of each name.
        """
        return self._compiled.evaluate_columns(frame, bounds)

    @property
    def conjuncts(self) -> tuple[Conjunct, ...]:
        """The conditions that it joins by ``and``, of those that read any parameter."""
        parts = map(Conjunct, self._compiled.conjuncts)
        return tuple(part for part in parts if part.names)

    def to_json(self) -> str:
        """The expression."""
        return self.expression

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __str__(self) -> str:
        return self.expression


class Conjunct:
    """A condition that a constraint joins to others by ``and``: where it fails, that fails.

    Where it cannot be evaluated it holds, as one that stands before it may rule that case out.
    """

    def __init__(self, expression: Expression) -> None:
        self._expression = expression
        self.names = expression.names

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Whether it does not fail for these values."""
        try:
            return bool(self._expression.evaluate(values))
        except SpaceError:
            return True

    def holds_columns(self, frame: Frame, bounds: Mapping[str, float]) -> Array | None:
        """As ``Constraint.holds_columns``."""
        return self._expression.evaluate_columns(frame, bounds)


@dataclass(frozen=True)
class Predicate(Constraint):
    """A constraint that is a Python function; ``expression`` is only its label."""

    reads: tuple[str, ...]
    function: Callable[..., object]

    def __post_init__(self) -> None:
        if not self.reads or not all(isinstance(name, str) for name in self.reads):
            raise SpaceError(
                f"constraint {quote(self.expression)} reads {quote(self.reads)}: "
                "give the names of the parameters that the function takes"
            )

    @property
    def names(self) -> tuple[str, ...]:
        return self.reads

    def holds(self, values: Mapping[str, Value]) -> bool:
        arguments = [values[name] for name in self.reads]
        try:
            return bool(self.function(*arguments))
        except Exception as error:
            raise SpaceError(
                f"constraint {quote(self.expression)} failed on {quote(arguments)}: "
                f"{type(error).__name__}: {quote(str(error))}"
            ) from error

    @property
    def conjuncts(self) -> tuple[Conjunct, ...]:
        return ()

    def holds_columns(  # a function takes one config at a time
        self,
        frame: Frame,  # noqa: ARG002
        bounds: Mapping[str, float],  # noqa: ARG002
    ) -> None:
        return None

    def to_json(self) -> str:
        raise SpaceError(
            f"constraint {quote(self.expression)} is a Python function, which JSON cannot hold: "
            "write it as an expression"
        )
