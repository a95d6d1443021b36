"""The programs of a network's layers, compiled for a network to call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tunesmith.compiler.compile import compiled
from tunesmith.errors import TunesmithError, last_line
from tunesmith.kernel import calling
from tunesmith.networks.build.selection import Choice
from tunesmith.networks.graph import Array, Value
from tunesmith.operators import Argument
from tunesmith.sketches.tir.weights import PREPARE, WEIGHT, prepared_weights


@dataclass
class LayerKernel:
    """The compiled program of a choice: the function ``name`` in ``module``.

    If its weights are laid out first, ``prepared`` describes them, and ``_prepare`` does it.
    """

    name: str
    choice: Choice
    module: Any
    prepared: Argument | None
    _prepare: Any = None
    _laid_out: dict[Value, Value] = field(default_factory=dict)

    def weights(self, value: Value) -> Value:
        """A constant of weights as the function takes them; the same for the same value."""
        if self.prepared is None:
            return value
        if value not in self._laid_out:
            operator, target = self.choice.problem.task.operator, self.choice.problem.task.target
            argument = operator.arguments[WEIGHT]
            array: Array = value.constant.reshape(argument.shape)  # type: ignore[union-attr]
            filled = calling.laid_out(
                array, argument, self.prepared, self._prepare, cores=target.core_count
            )
            self._laid_out[value] = Value.of(filled.numpy(), value.name)
        return self._laid_out[value]


def layer_kernel(name: str, choice: Choice) -> LayerKernel:
    """Compile a choice. Raises ``InstantiationError`` and ``TunesmithError`` like a kernel.

    The function does not check its arguments: the network has checked its inputs, and makes the
    rest itself.
    """
    import tvm

    target = choice.problem.task.target.to_tvm()
    program = choice.problem.program(choice.config)
    prepared = prepared_weights(program)
    try:
        main = tvm.IRModule({name: program["main"].with_attr("global_symbol", name)})
        module = compiled(main, target, checked=False).mod
        prepare = None
        if prepared is not None:
            alone = tvm.IRModule({PREPARE: program[PREPARE]})
            prepare = compiled(alone, target).jit()[PREPARE]
    except TunesmithError:
        raise
    except Exception as error:
        raise TunesmithError(f"{name} cannot be compiled: {last_line(error)}") from error
    return LayerKernel(name, choice, module, prepared, prepare)
