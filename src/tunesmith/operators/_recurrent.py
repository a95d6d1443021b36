"""Recurrent cells, one step or many: ``lstm`` and ``gru``."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tunesmith.operators._base import element_types
from tunesmith.operators._base.arithmetic import Arithmetic, NumpyArithmetic, TvmArithmetic
from tunesmith.operators._base.operator import Argument, Array, Float64Array, WeightedOperator
from tunesmith.operators._base.options import flag, size

Keep = Callable[[Any], Any]
"""Names a value, so that it is computed once however often it is used."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RecurrentOperator(WeightedOperator):
    """Steps of a cell with gates, each of which begins with the states of the one before.

    ``gates`` has the part of the gates' sums that does not depend on the states: the products of
    the inputs and their weights, and the biases. The gates of all units lie side by side, in
    PyTorch's order; so do the rows of ``weight``. With ``reverse`` the last step comes first.

    The result has the hidden state of each step, then for ``lstm`` the cell state in the end.
    """

    gate_count: ClassVar[int]
    """Gates of a unit."""
    state_count: ClassVar[int]
    """States of a unit, of which the hidden one is the first."""
    further_operations: ClassVar[int]
    """Operations on a unit in a step beside the products with the hidden state."""

    steps: int = field(default=1, metadata=size("steps, one after the other"))
    b: int = field(default=1, metadata=size("sequences in the batch"))
    units: int = field(metadata=size("units: the length of a state"))
    reverse: bool = field(default=False, metadata=flag("begin with the last step"))

    @property
    def state_shape(self) -> tuple[int, int]:
        """The shape of a state."""
        return self.b, self.units

    @property
    def gate_rows(self) -> int:
        """The gates of all units."""
        return self.gate_count * self.units

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return (
            Argument("hidden", self.state_shape, self.dtype),
            Argument("weight", (self.gate_rows, self.units), self.dtype),
            Argument("gates", (self.steps, self.b, self.gate_rows), self.dtype),
            self._last_argument,
        )

    @property
    @abc.abstractmethod
    def _last_argument(self) -> Argument: ...

    @property
    def result(self) -> Argument:
        return Argument(
            "output", (self.steps + self.state_count - 1, *self.state_shape), self.dtype
        )

    @property
    def order(self) -> Sequence[int]:
        """The steps in the order in which they are computed."""
        return range(self.steps)[:: -1 if self.reverse else 1]

    @property
    def reduction_length(self) -> int:
        """The number of products in a sum."""
        return self.units

    @property
    def flops(self) -> int:
        of_a_unit = 2 * self.gate_rows + self.further_operations
        return self.steps * self.b * self.units * of_a_unit

    @property
    def tolerance(self) -> tuple[float, float]:
        # With the weights of make_inputs, later steps do not enlarge the errors of earlier ones.
        relative, of_sums = self._sum_tolerance(self.units)
        of_states = 4 * element_types.unit_roundoff(self.dtype) * (self.steps - 1)
        return relative, self.steps * of_sums * self._weight_scale + of_states

    @property
    def _weight_scale(self) -> float:
        return 1 / math.sqrt(self.units)

    def make_inputs(self, seed: int) -> list[Array]:
        """Like those of other operators, but with weights uniform in ±1 / sqrt(units), with which
        PyTorch begins, too: with larger ones errors would grow from step to step."""
        hidden, weight, *others = super().make_inputs(seed)
        scaled = weight.astype(np.float64) * self._weight_scale
        return [hidden, scaled.astype(weight.dtype), *others]

    @abc.abstractmethod
    def advanced(
        self,
        arithmetic: Arithmetic,
        products: Sequence[Any],
        gates: Sequence[Any],
        further: Sequence[Any],
        keep: Keep = lambda value: value,
    ) -> tuple[Any, ...]:
        """The states of a unit after a step; the hidden one is the first.

        ``products`` are the sums of the hidden state times the weights, and ``gates`` what is added
        to them, for each gate; ``further`` are what ``further_of`` says.
        """

    @abc.abstractmethod
    def further_of(self, states: Sequence[Any], last: Any) -> Sequence[Any]:
        """What ``advanced`` reads beside the gates, given all states and the last argument."""

    def _define(self, inputs: list[Any]) -> Any:
        """For each step a stage of the products and one of each new state, then "states"."""
        from tvm import te

        hidden, weight, gates, last = inputs
        found: dict[int, Any] = {}
        states = [hidden, *self._other_states(last)]
        for step in self.order:
            products = self._define_products(step, states[0], weight)
            states = self._define_states(step, products, states, gates, last)
            found[step] = states[0]
        parts = [*(found[step] for step in range(self.steps)), *states[1:]]
        return te.compute(self.result.shape, lambda s, i, j: _picked(parts, s, i, j), name="states")

    def _define_products(self, step: int, hidden: Any, weight: Any) -> Any:
        from tvm import te

        total = self.accumulate_dtype
        k = te.reduce_axis((0, self.units), name="k")

        def product(i: Any, j: Any) -> Any:
            return te.sum(hidden[i, k].astype(total) * weight[j, k].astype(total), axis=k)

        return te.compute((self.b, self.gate_rows), product, name=f"{self.name}{step}")

    def _define_states(
        self, step: int, products: Any, states: Sequence[Any], gates: Any, last: Any
    ) -> list[Any]:
        from tvm import te

        total = self.accumulate_dtype

        def state(number: int) -> Any:
            def element(i: Any, j: Any) -> Any:
                places = [gate * self.units + j for gate in range(self.gate_count)]
                here = [each[i, j].astype(total) for each in states]
                of_unit = (last[j] if len(last.shape) == 1 else last[i, j]).astype(total)
                found = self.advanced(
                    TvmArithmetic(total),
                    [products[i, place] for place in places],
                    [gates[step, i, place].astype(total) for place in places],
                    self.further_of(here, of_unit),
                )
                return found[number].astype(self.dtype)

            return te.compute(self.state_shape, element, name=f"state{number}_{step}")

        return [state(number) for number in range(self.state_count)]

    def _other_states(self, last: Any) -> list[Any]:
        """The states beside the hidden one that the first step begins with."""
        return [last] * (self.state_count - 1)

    def _evaluate(self, inputs: list[Float64Array]) -> Float64Array:
        hidden, weight, gates, last = inputs
        result = np.empty(self.result.shape)
        states = (hidden, *self._other_states(last))
        for step in self.order:
            products = np.split(states[0] @ weight.T, self.gate_count, axis=-1)
            added = np.split(gates[step], self.gate_count, axis=-1)
            further = self.further_of(states, last)
            states = self.advanced(NumpyArithmetic(), products, added, further)
            result[step] = states[0]
        for number, state in enumerate(states[1:]):
            result[self.steps + number] = state
        return result


@dataclass(frozen=True, kw_only=True, repr=False)
class Lstm(RecurrentOperator):
    """LSTM: gates i, f, g, o; ``cell = sigmoid(f) * cell + sigmoid(i) * tanh(g)``, and
    ``hidden = sigmoid(o) * tanh(cell)``.

    The result has ``steps + 1`` parts: the hidden states, and the last cell state.
    """

    name: ClassVar[str] = "lstm"
    summary: ClassVar[str] = "steps of an LSTM cell"
    signature: ClassVar[tuple[str, ...]] = (
        "hidden (b, units)",
        "weight (4 * units, units)",
        "gates (steps, b, 4 * units)",
        "cell (b, units)",
    )
    gate_count: ClassVar[int] = 4
    state_count: ClassVar[int] = 2
    # Four additions, three times sigmoid and twice tanh of four operations each, and four more.
    further_operations: ClassVar[int] = 28

    @property
    def _last_argument(self) -> Argument:
        return Argument("cell", self.state_shape, self.dtype)

    def advanced(
        self,
        arithmetic: Arithmetic,
        products: Sequence[Any],
        gates: Sequence[Any],
        further: Sequence[Any],
        keep: Keep = lambda value: value,
    ) -> tuple[Any, ...]:
        (cell,) = further
        i, f, g, o = (product + gate for product, gate in zip(products, gates, strict=True))
        i, f, o = (keep(arithmetic.sigmoid(each)) for each in (i, f, o))
        cell = keep(f * cell + i * keep(arithmetic.tanh(g)))
        return o * keep(arithmetic.tanh(cell)), cell

    def further_of(self, states: Sequence[Any], last: Any) -> Sequence[Any]:  # noqa: ARG002
        return states[1:]


@dataclass(frozen=True, kw_only=True, repr=False)
class Gru(RecurrentOperator):
    """GRU as in PyTorch: gates r, z, n; ``n = tanh(gate + sigmoid(r) * (product + bias))``, and
    ``hidden = n + sigmoid(z) * (hidden - n)``.

    ``bias`` is what the gate n adds to its products with the hidden state. The result has the
    hidden states of all steps.
    """

    name: ClassVar[str] = "gru"
    summary: ClassVar[str] = "steps of a GRU cell"
    signature: ClassVar[tuple[str, ...]] = (
        "hidden (b, units)",
        "weight (3 * units, units)",
        "gates (steps, b, 3 * units)",
        "bias (units)",
    )
    gate_count: ClassVar[int] = 3
    state_count: ClassVar[int] = 1
    # Four additions, twice sigmoid and once tanh of four operations each, and four more.
    further_operations: ClassVar[int] = 20

    @property
    def _last_argument(self) -> Argument:
        return Argument("bias", (self.units,), self.dtype)

    def advanced(
        self,
        arithmetic: Arithmetic,
        products: Sequence[Any],
        gates: Sequence[Any],
        further: Sequence[Any],
        keep: Keep = lambda value: value,
    ) -> tuple[Any, ...]:
        hidden, bias = further
        r, z = (
            keep(arithmetic.sigmoid(product + gate))
            for product, gate in zip(products[:2], gates[:2], strict=True)
        )
        n = keep(arithmetic.tanh(gates[2] + r * (products[2] + bias)))
        return (n + z * (hidden - n),)

    def further_of(self, states: Sequence[Any], last: Any) -> Sequence[Any]:
        return states[0], last


def _picked(parts: Sequence[Any], number: Any, i: Any, j: Any) -> Any:
    """The element of one of several tensors, by halves."""
    from tvm import te

    if len(parts) == 1:
        return parts[0][i, j]
    middle = len(parts) // 2
    below = _picked(parts[:middle], number, i, j)
    above = _picked(parts[middle:], number - middle, i, j)
    return te.if_then_else(number < middle, below, above)
