"""Layers of LSTM and GRU in Relax: a product for the inputs of all steps, then a call of the cell.

The call is of a function that does not exist: ``networks/relax.py`` reads it as a node ``lstm`` or
``gru``, with the arguments of the operator of that name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.networks.relax import CELLS

GATES = {"lstm": 4, "gru": 3}
"""The gates of a unit."""


@dataclass(frozen=True)
class Weights:
    """The weights of one direction of a layer, in PyTorch's layout and order of gates.

    ``of_inputs`` is (gates * units, inputs), ``of_states`` is (gates * units, units), the biases
    are (gates * units) or None.
    """

    of_inputs: Any
    of_states: Any
    input_bias: Any | None = None
    state_bias: Any | None = None


@dataclass(frozen=True)
class Found:
    """What a direction of a layer gives: the hidden states of all steps (steps, b, units), and all
    states in the end, (b, units) each."""

    hidden: Any
    last: tuple[Any, ...]


class Cells:
    """Emits layers of ``lstm`` or ``gru`` with a ``relax.BlockBuilder``."""

    def __init__(self, builder: Any, kind: str) -> None:
        self._builder = builder
        self._kind = kind

    def layer(
        self, data: Any, weights: Weights, states: Sequence[Any], *, reverse: bool = False
    ) -> Found:
        """One direction of a layer. ``data`` is (steps, b, inputs), and ``states`` are the hidden
        state and for ``lstm`` the cell state before the first step, (b, units) each."""
        from tvm import relax

        op = relax.op
        steps, b, inputs = data.ty.shape
        units, dtype = weights.of_states.ty.shape[1], data.ty.dtype
        rows = GATES[self._kind] * int(units)
        matrix = self._emit(op.reshape(data, (steps * b, inputs)))
        columns = self._emit(op.permute_dims(weights.of_inputs, [1, 0]))
        gates = self._emit(op.matmul(matrix, columns))
        added, last = self._biases(weights, int(units), dtype)
        if added is not None:
            gates = self._emit(op.add(gates, added))
        gates = self._emit(op.reshape(gates, (steps, b, rows)))
        hidden, *others = states
        parts = steps + len(others)
        result = self._emit(
            op.call_dps_packed(
                CELLS[self._kind, reverse],
                relax.Tuple([hidden, weights.of_states, gates, *(others or [last])]),
                relax.TensorType((parts, b, units), dtype),
            )
        )
        ends = [0 if reverse else steps - 1, *(steps + number for number in range(len(others)))]
        return Found(
            self.part(result, 0, steps),
            tuple(self.part(result, end, end + 1, squeezed=True) for end in ends),
        )

    def layer_of_reset_states(
        self, data: Any, weights: Weights, states: Sequence[Any], *, reverse: bool = False
    ) -> Found:
        """The same for the GRU of ONNX whose reset gate is applied to the states before the
        products (``linear_before_reset=0``): step by step, in plain operations."""
        from tvm import relax

        op = relax.op
        (hidden,) = states
        count, b, inputs = data.ty.shape
        units = int(weights.of_states.ty.shape[1])
        of_states = self.permuted(weights.of_states, (1, 0))
        of_gates = self.part(of_states, 0, 2 * units, axis=1)
        of_new = self.part(of_states, 2 * units, 3 * units, axis=1)
        gates = self._emit(op.reshape(data, (count * b, inputs)))
        gates = self._emit(op.matmul(gates, self.permuted(weights.of_inputs, (1, 0))))
        for bias in (weights.input_bias, weights.state_bias):
            if bias is not None:
                gates = self._emit(op.add(gates, bias))
        gates = self._emit(op.reshape(gates, (count, b, 3 * units)))
        found: dict[int, Any] = {}
        for step in range(int(count))[:: -1 if reverse else 1]:
            added = self.part(gates, step, step + 1, squeezed=True)
            sums = self._emit(op.matmul(hidden, of_gates))
            both = self._emit(op.add(sums, self.part(added, 0, 2 * units, axis=1)))
            both = self._emit(op.sigmoid(both))
            reset = self._emit(op.multiply(self.part(both, 0, units, axis=1), hidden))
            sums = self._emit(op.matmul(reset, of_new))
            new = self._emit(op.add(sums, self.part(added, 2 * units, 3 * units, axis=1)))
            new = self._emit(op.tanh(new))
            less = self._emit(op.subtract(hidden, new))
            kept = self._emit(op.multiply(self.part(both, units, 2 * units, axis=1), less))
            hidden = self._emit(op.add(new, kept))
            found[step] = hidden
        return Found(self.stacked([found[step] for step in sorted(found)]), (hidden,))

    def zeros(self, shape: Sequence[Any], dtype: Any) -> Any:
        """A tensor of zeros."""
        from tvm import relax

        return self._emit(relax.op.zeros(tuple(shape), dtype))

    def part(
        self, data: Any, begin: Any, end: Any, *, axis: int = 0, squeezed: bool = False
    ) -> Any:
        """Some of a tensor along an axis; of a single one ``squeezed`` leaves the axis out."""
        from tvm import relax

        found = self._emit(relax.op.strided_slice(data, [axis], [begin], [end]))
        return self._emit(relax.op.squeeze(found, [axis])) if squeezed else found

    def joined(self, parts: Sequence[Any], axis: int) -> Any:
        """Tensors side by side along an axis."""
        from tvm import relax

        if len(parts) == 1:
            return parts[0]
        return self._emit(relax.op.concat(relax.Tuple(list(parts)), axis))

    def stacked(self, parts: Sequence[Any]) -> Any:
        """Tensors along a new first axis."""
        from tvm import relax

        return self.joined([self._emit(relax.op.expand_dims(part, [0])) for part in parts], 0)

    def permuted(self, data: Any, axes: Sequence[int]) -> Any:
        """The tensor with its axes in another order."""
        from tvm import relax

        return self._emit(relax.op.permute_dims(data, list(axes)))

    def _biases(self, weights: Weights, units: int, dtype: Any) -> tuple[Any | None, Any]:
        """What is added to all products of inputs, and for ``gru`` what its last gate adds to its
        products of states."""
        from tvm import relax

        of_states, last = weights.state_bias, None
        if self._kind == "gru":
            zeros = self.zeros((units,), dtype)
            last = zeros
            if of_states is not None:
                last = self.part(of_states, 2 * units, 3 * units)
                of_states = self.joined([self.part(of_states, 0, 2 * units), zeros], 0)
        known = [bias for bias in (weights.input_bias, of_states) if bias is not None]
        if len(known) == 2:
            return self._emit(relax.op.add(*known)), last
        return (known[0] if known else None), last

    def _emit(self, expression: Any) -> Any:
        return self._builder.emit(expression)
