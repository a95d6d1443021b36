"""A sketch whose configs are programs for GPUs that misbehave, each in its own way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from tunesmith.errors import InstantiationError
from tunesmith.operators import Operator
from tunesmith.sketches.sketch import Sketch
from tunesmith.space import Categorical, Config, Ordinal, Space
from tunesmith.target import Target

# Rows: further than anything that a test allocates.
_FAR = 1 << 26


def config(fault: str, number: int = 0) -> Config:
    """The config with that fault. The number only tells configs apart."""
    return Config({"fault": fault, "number": number})


class FaultyGpuSketch(Sketch):
    """``fault`` says what goes wrong while a small matmul is made, compiled, or run."""

    name: ClassVar[str] = "faulty_gpu"
    version: ClassVar[int] = 1

    def supports(self, operator: Operator, target: Target) -> bool:
        return operator.name == "matmul" and target.kind == "cuda"

    def space(self, operator: Operator, target: Target) -> Space:
        faults = ("none", "instantiation", *_FAULTS)
        return Space([Categorical("fault", faults), Ordinal("number", tuple(range(1000)))])

    def default(self, operator: Operator, target: Target) -> Config:
        return config("none")

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        from tvm import te
        from tvm.s_tir import Schedule

        fault = str(config["fault"])
        if fault == "instantiation":
            raise InstantiationError("the tile is larger than the matrix")
        *inputs, right = operator.compute()
        result = _FAULTS.get(fault, lambda right, _: right)(right, inputs)
        schedule = Schedule(te.create_prim_func([*inputs, result]))
        for block in schedule.get_child_blocks(schedule.get_sblock("root")):
            i, j, *_ = schedule.get_loops(block)
            schedule.bind(i, "blockIdx.x")
            schedule.bind(j, "threadIdx.x")
        # Programs that are the same would share their machine code.
        number = config["number"]
        assert isinstance(number, int)
        return schedule.mod.with_attr("number", number)


def _elementwise(change: Callable[[Any, Any, Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A stage behind the product, of the product, the inputs and an index."""

    def result(right: Any, inputs: Any) -> Any:
        from tvm import te

        return te.compute(right.shape, lambda i, j: change(right, inputs, i, j), name="result")

    return result


def _endless(right: Any, inputs: Any) -> Any:
    from tvm import te

    k, m, n = (te.reduce_axis((0, 1024), name=name) for name in "kmn")
    a = inputs[0]

    def sums(i: Any, j: Any) -> Any:
        return te.sum(right[i, j] * a[i, (k + m + n) % 16], axis=[k, m, n])

    return te.compute(right.shape, sums, name="result")


def _large_workspace(right: Any, inputs: Any) -> Any:
    from tvm import te

    large = te.compute((1 << 18, 1 << 12), lambda i, j: right[i % 16, j % 16], name="large")
    return te.compute(right.shape, lambda i, j: large[i, j], name="result")


def _unknown_function(right: Any, inputs: Any, i: Any, j: Any) -> Any:
    from tvm.tirx import call_extern

    return right[i, j] + call_extern("float32", "no_such_function_anywhere", inputs[0][i, j])


_FAULTS: dict[str, Callable[[Any, Any], Any]] = {
    "wrong": _elementwise(lambda right, inputs, i, j: right[i, j] + 1.0),
    "illegal_address": _elementwise(lambda right, inputs, i, j: inputs[0][i + _FAR, j]),
    "no_such_function": _elementwise(_unknown_function),
    "endless": _endless,
    "large_workspace": _large_workspace,
}
