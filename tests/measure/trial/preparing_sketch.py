"""A sketch whose programs transpose the weights of a matmul in ``prepare``, or fail to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tunesmith.operators import Argument, Matmul, Operator
from tunesmith.sketches import Sketch
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.weights import program_with_weights
from tunesmith.space import Categorical, Config, Space
from tunesmith.target import Target

# What the C library is asked to do before the weights are laid out.
CALLS: dict[str, tuple[Any, ...]] = {
    "hang": ("pause",),
    "abort": ("abort",),
    "unknown_symbol": ("no_such_function_anywhere",),
    "note": ("system", "echo prepared >> $TUNESMITH_TEST_NOTES"),
}


def config(behaviour: str) -> Config:
    """The config whose ``prepare`` behaves so."""
    return Config({"prepare": behaviour})


class PreparingSketch(Sketch):
    """``prepare`` is right, leaves a row ``unset`` that is then used, or one that is ``unused``, is
    ``wrong``, or makes one of ``CALLS``."""

    name: ClassVar[str] = "preparing"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return isinstance(operator, Matmul)

    def space(self, operator: Operator, target: Target) -> Space:
        return Space([Categorical("prepare", ("right", "unset", "unused", "wrong", *CALLS))])

    def default(self, operator: Operator, target: Target) -> Config:
        return config("right")

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        assert isinstance(operator, Matmul)
        behaviour = str(config["prepare"])
        rows = operator.n + (behaviour == "unused")
        written = operator.n - (behaviour == "unset")

        def prepare(weight: Any, prepared: Any) -> None:
            if behaviour in CALLS:
                _call(*CALLS[behaviour])
            with emit.serial(written, "j") as j, emit.serial(operator.k, "k") as k:
                value = emit.load(weight, [k, j])
                emit.store(prepared, value + 1.0 if behaviour == "wrong" else value, [j, k])

        def main(buffers: Sequence[Any]) -> None:
            data, prepared, result = buffers
            with emit.serial(operator.m, "i") as i, emit.serial(operator.n, "j") as j:
                emit.store(result, emit.constant(0.0, operator.dtype), [i, j])
                with emit.serial(operator.k, "k") as k:
                    term = emit.load(data, [i, k]) * emit.load(prepared, [j, k])
                    emit.store(result, emit.load(result, [i, j]) + term, [i, j])

        laid_out = Argument("prepared", (rows, operator.k), operator.dtype)
        return program_with_weights(operator, laid_out, prepare, main)


def _call(function: str, *arguments: Any) -> None:
    from tvm import tirx
    from tvm.tirx.script.builder import ir

    ir.evaluate(tirx.call_extern("int32", function, *arguments))
