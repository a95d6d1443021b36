"""Networks of Relax, written as its users write them, and TVM's passes over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.exchange.metaschedule.tasks import CPU

Network = Callable[..., Any]


def network(
    inputs: Sequence[Sequence[int]],
    body: Network,
    constants: Sequence[np.ndarray[Any, Any]] = (),
) -> Any:
    """A module whose function ``main`` is ``body`` of its inputs and constants, all float32."""
    from tvm import relax

    variables = [
        relax.Var(f"x{number}", relax.TensorType(shape, "float32"))
        for number, shape in enumerate(inputs)
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", variables):
        with builder.dataflow():
            value = body(builder.emit, *variables, *map(relax.const, constants))
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    return builder.finalize()


def fused(module: Any, *, attach: bool = False, transpose: bool = False) -> Any:
    """After the passes that come before tuning."""
    from tvm.ir.transform import Sequential
    from tvm.relax import transform as passes

    with CPU.to_tvm():
        return Sequential(
            [
                *([passes.FuseTransposeMatmul()] if transpose else []),
                passes.LegalizeOps(),
                passes.AnnotateTIROpPattern(),
                passes.FoldConstant(),
                passes.FuseOps(),
                passes.FuseTIR(),
                passes.DeadCodeElimination(["main"]),
                *([passes.AttachAttrLayoutFreeBuffers()] if attach else []),
            ]
        )(module)


def applied(module: Any, database: Any) -> Any:
    """After TVM has looked for a schedule of each function in a database."""
    from tvm.relax import transform as passes

    with CPU.to_tvm(), database:
        return passes.MetaScheduleApplyDatabase()(module)


def functions(module: Any) -> list[Any]:
    """The functions of a network that are not of Relax."""
    from tvm.tirx import PrimFunc

    return [it for it in module.functions.values() if isinstance(it, PrimFunc)]


def is_scheduled(function: Any) -> bool:
    """Whether a database had a schedule of it."""
    return bool(function.attrs.get("tirx.is_scheduled", False))


def run(module: Any, *arrays: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What a network computes, compiled by TVM."""
    import tvm
    from tvm import relax

    executable = relax.build(module, CPU.to_tvm(), relax_pipeline="default_build")
    machine = relax.VirtualMachine(executable, tvm.cpu())
    result: np.ndarray[Any, Any] = machine["main"](*map(tvm.runtime.tensor, arrays)).numpy()
    return result
