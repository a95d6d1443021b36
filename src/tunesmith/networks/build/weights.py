"""The constants of a network that its functions take as arguments, and where they are laid out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunesmith.kernel import arrays
from tunesmith.networks.build.kernels import Prepared
from tunesmith.networks.description import Preparation
from tunesmith.networks.graph import Value
from tunesmith.operators import Argument
from tunesmith.sketches.tir.weights import PREPARE


class Weights:
    """The weights of all functions. Equal ones are one, such as those of two batches."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.tensors: list[Any] = []
        self._numbers: dict[object, int] = {}

    def number(self, value: Value) -> int:
        """The number of a constant, or of what is prepared from one; it is added if no equal one is
        there.

        Its memory is shared if it is aligned: weights that were laid out are in memory once.
        """
        if isinstance(value, Prepared):
            key: object = (value.function, self.number(value.raw))
        else:
            key = value.content
        number = self._numbers.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
            self.tensors.append(None if isinstance(value, Prepared) else _tensor(value))
        return number

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What they are as arguments of the functions."""
        return tuple(
            Argument(f"weight{number}", value.shape, value.dtype)
            for number, value in enumerate(self.values)
        )

    @property
    def prepared(self) -> Mapping[int, Prepared]:
        """Those that are prepared where the network runs, by their numbers."""
        return {
            number: value for number, value in enumerate(self.values) if isinstance(value, Prepared)
        }


def preparation_of(builder: Any, weights: Weights) -> Preparation | None:
    """Adds the function that lays out weights where the network runs, if there are any."""
    from tvm import relax

    prepared = weights.prepared
    if not prepared:
        return None
    parameters = {
        weights.number(value.raw): relax.Var(
            f"weight{weights.number(value.raw)}",
            relax.TensorType(value.raw.shape, value.raw.dtype),
        )
        for value in prepared.values()
    }
    with builder.function(PREPARE, list(parameters.values())):
        with builder.dataflow():
            made = []
            for value in prepared.values():
                raw = parameters[weights.number(value.raw)]
                if value.taken != value.raw.shape:
                    raw = builder.emit(relax.op.reshape(raw, value.taken))
                kind = relax.TensorType(value.shape, value.dtype)
                made.append(
                    builder.emit(relax.op.call_dps_packed(value.function, relax.Tuple([raw]), kind))
                )
            result = builder.emit_output(relax.Tuple(made))
        builder.emit_func_output(result)
    return Preparation(PREPARE, tuple(parameters), tuple(prepared))


def _tensor(constant: Value) -> Any:
    described = Argument(constant.name, constant.shape, constant.dtype)
    return arrays.input_tensor(constant.constant, described, arrays.ALIGNMENT)


def is_weight(value: Value) -> bool:
    """Whether a value is a constant, or prepared from one."""
    return value.constant is not None or isinstance(value, Prepared)
