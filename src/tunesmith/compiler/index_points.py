"""The values of index expressions where all loops but one are at their first step.

An index is not analysed as an expression: it is evaluated at a few points. For affine indices that
gives strides and extents exactly, for others, such as those of overlapping tiles, what they are at
these points.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class IndexPoints:
    """Evaluates TIR expressions at all points of a path of loops at once.

    The first point has all loops at their first step. Then each loop, outermost first, has two: its
    second step and its last. ``places`` maps loop variables to the loops of the path, ``bound``
    other variables to what they stand for; both by their hashes, as TVM compares variables only
    as expressions. Whatever else an expression contains counts as 0.
    """

    def __init__(
        self, extents: Sequence[int], places: Mapping[int, int], bound: Mapping[int, Any]
    ) -> None:
        self._extents = extents
        self._places = places
        self._bound = bound
        self._known: dict[int, Ints] = {}
        self._constants: dict[int, Ints] = {}
        self._zeros: Ints = np.zeros(1 + 2 * len(extents), dtype=np.int64)

    def of(self, expression: Any) -> Ints:
        """The values of an expression, shape (1 + 2 loops,)."""
        evaluate = _evaluators().get(type(expression).__name__)
        return self._zeros if evaluate is None else evaluate(self, expression)

    def variable(self, variable: Any) -> Ints:
        """The values of a variable."""
        key = hash(variable)
        if key not in self._known:
            self._known[key] = self._variable(key)
        return self._known[key]

    def _variable(self, key: int) -> Ints:
        if key in self._bound:
            return self.of(self._bound[key])
        values = self._zeros.copy()
        place = self._places.get(key)
        if place is not None:
            last = self._extents[place] - 1
            values[1 + 2 * place : 3 + 2 * place] = min(1, last), last
        return values

    def constant(self, value: int) -> Ints:
        """The values of a constant."""
        if value not in self._constants:
            self._constants[value] = self._zeros + value
        return self._constants[value]


Evaluate = Callable[[IndexPoints, Any], Ints]


def _binary(combine: Callable[[Ints, Ints], Any]) -> Evaluate:
    def evaluate(points: IndexPoints, expression: Any) -> Ints:
        result: Ints = np.asarray(combine(points.of(expression.a), points.of(expression.b)))
        return result.astype(np.int64, copy=False)

    return evaluate


def _divided(combine: Callable[[Ints, Ints], Any]) -> Evaluate:
    def evaluate(points: IndexPoints, expression: Any) -> Ints:
        divisor = points.of(expression.b)
        result: Ints = combine(points.of(expression.a), np.where(divisor == 0, 1, divisor))
        return result

    return evaluate


def _called(points: IndexPoints, call: Any) -> Ints:
    """Of calls only conditional values and shifts say where something is."""
    name = str(getattr(call.op, "name", ""))
    if name.endswith("if_then_else"):
        condition, value, other = (points.of(argument) for argument in call.args)
        return np.where(condition != 0, value, other)
    if name.endswith(("shift_left", "shift_right")):
        value, places = (points.of(argument) for argument in call.args)
        shifted: Ints = value << places if name.endswith("left") else value >> places
        return shifted
    return points.of(None)


@cache
def _evaluators() -> dict[str, Evaluate]:
    """By the name of the node's class, which is looked up faster than types are tested."""
    comparisons: dict[str, Callable[[Ints, Ints], Any]] = {
        "EQ": operator.eq,
        "NE": operator.ne,
        "LT": operator.lt,
        "LE": operator.le,
        "GT": operator.gt,
        "GE": operator.ge,
        "And": np.logical_and,
        "Or": np.logical_or,
    }
    arithmetic: dict[str, Callable[[Ints, Ints], Any]] = {
        "Add": operator.add,
        "Sub": operator.sub,
        "Mul": operator.mul,
        "Min": np.minimum,
        "Max": np.maximum,
    }
    divisions = {
        "FloorDiv": operator.floordiv,
        "Div": operator.floordiv,
        "FloorMod": operator.mod,
        "Mod": operator.mod,
    }
    return {
        **{name: _binary(combine) for name, combine in (comparisons | arithmetic).items()},
        **{name: _divided(combine) for name, combine in divisions.items()},
        "IntImm": lambda points, node: points.constant(int(node.value)),
        "Var": lambda points, node: points.variable(node),
        "Ramp": lambda points, node: points.of(node.base),
        "Broadcast": lambda points, node: points.of(node.value),
        "Cast": lambda points, node: points.of(node.value),
        "Not": lambda points, node: (points.of(node.a) == 0).astype(np.int64),
        "Select": lambda points, node: np.where(
            points.of(node.condition) != 0, points.of(node.true_value), points.of(node.false_value)
        ),
        "Call": _called,
    }
