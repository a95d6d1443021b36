"""A network in Relax: calls of its layers' kernels, and what no layer covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.compiler.passes.vector_functions import register_vector_functions
from tunesmith.networks.build.fallback import scheduled_for_cpu
from tunesmith.networks.build.kernels import LayerKernel
from tunesmith.networks.graph import Array, Graph, Value
from tunesmith.networks.layers.cover import Step
from tunesmith.networks.layers.layer import Layer
from tunesmith.operators import Argument
from tunesmith.sketches.tir.weights import WEIGHT, with_weights
from tunesmith.target import Target


@dataclass(frozen=True)
class BuiltModule:
    """TVM's executable, whose function ``main`` takes the network's inputs and then ``weights``.

    The weights are no constants of the executable: TVM would print a line for each when it saves
    and loads them, and copy them.
    """

    executable: Any
    weights: tuple[Any, ...]


def built_module(
    graph: Graph, steps: Sequence[Step], kernels: Mapping[Layer, LayerKernel], target: Target
) -> BuiltModule:
    """Build a network whose layers have these kernels."""
    from tvm import relax
    from tvm.runtime import tensor

    register_vector_functions()
    emitter = _Emitter(graph, kernels)
    module = emitter.module(steps)
    linked = list({id(kernel): kernel.module for kernel in kernels.values()}.values())
    module = module.with_attr("external_mods", linked)
    executable = relax.build(module, target.to_tvm(), relax_pipeline=_pipeline())
    return BuiltModule(executable, tuple(tensor(array) for array in emitter.weights))


def _pipeline() -> Any:
    """Relax's passes, in TVM's order: fusion of what is no layer, and memory planned."""
    from tvm.ir.transform import Sequential
    from tvm.relax import transform

    return Sequential(
        [
            transform.LegalizeOps(),
            transform.AnnotateTIROpPattern(),
            transform.FuseOps(),
            transform.FuseTIR(),
            transform.DeadCodeElimination(["main"]),
            scheduled_for_cpu(),
            transform.RewriteDataflowReshape(),
            transform.ToNonDataflow(),
            transform.RemovePurityChecking(),
            transform.CallTIRRewrite(),
            transform.StaticPlanBlockMemory(),
            transform.LowerAllocTensor(),
            transform.KillAfterLastUse(),
            transform.LowerRuntimeBuiltin(),
            transform.ComputePrimValue(),
            transform.VMShapeLower(),
            transform.AttachGlobalSymbol(),
        ]
    )


class _Emitter:
    """Emits the function ``main``, and collects its ``weights``."""

    def __init__(self, graph: Graph, kernels: Mapping[Layer, LayerKernel]) -> None:
        from tvm import relax

        self.weights: list[Array] = []
        self._graph = graph
        self._kernels = kernels
        self._builder = relax.BlockBuilder()
        self._expressions: dict[Value, Any] = {}

    def module(self, steps: Sequence[Step]) -> Any:
        from tvm import relax

        builder = self._builder
        parameters = [self._parameter(value, value.name) for value in self._graph.inputs]
        for step in steps:
            for value in self._reads(step):
                if value.constant is not None and value not in self._expressions:
                    parameters.append(self._parameter(value, f"weight{len(self.weights)}"))
                    self.weights.append(value.constant)
        with builder.function("main", parameters):
            with builder.dataflow():
                for step in steps:
                    self._emit(step)
                outputs = [self._expressions[value] for value in self._graph.outputs]
                result = outputs[0] if len(outputs) == 1 else relax.Tuple(outputs)
                result = builder.emit_output(result)
            builder.emit_func_output(result)
        return builder.finalize()

    def _parameter(self, value: Value, name: str) -> Any:
        from tvm import relax

        variable = relax.Var(name, relax.TensorType(value.shape, value.dtype))
        self._expressions[value] = variable
        return variable

    def _reads(self, step: Step) -> Sequence[Value]:
        """The values that a step reads; of a layer whose weights are laid out first, those."""
        if not isinstance(step, Layer):
            return step.inputs
        kernel = self._kernels[step]
        if kernel.prepared is None:
            return step.inputs
        return with_weights(step.inputs, kernel.weights(step.inputs[WEIGHT]))

    def _emit(self, step: Step) -> None:
        from tvm import relax

        if isinstance(step, Layer):
            self._expressions[step.output] = self._call(step)
            return
        inputs = [self._expressions[value] for value in step.inputs]
        result = self._builder.emit(step.emit(inputs))
        if len(step.outputs) == 1:
            self._expressions[step.output] = result
            return
        for index, value in enumerate(step.outputs):
            self._expressions[value] = self._builder.emit(relax.TupleGetItem(result, index))

    def _call(self, layer: Layer) -> Any:
        from tvm import relax

        kernel, operator = self._kernels[layer], layer.operator
        expected: Sequence[Argument] = operator.arguments
        if kernel.prepared is not None:
            expected = with_weights(expected, kernel.prepared)
        arguments = [
            self._shaped(self._expressions[value], value.shape, argument.shape)
            for value, argument in zip(self._reads(layer), expected, strict=True)
        ]
        result = operator.result
        made = self._builder.emit(
            relax.op.call_dps_packed(
                kernel.name, relax.Tuple(arguments), relax.TensorType(result.shape, result.dtype)
            )
        )
        return self._shaped(made, result.shape, layer.output.shape)

    def _shaped(self, expression: Any, given: tuple[int, ...], wanted: tuple[int, ...]) -> Any:
        from tvm import relax

        if given == wanted:
            return expression
        return self._builder.emit(relax.op.reshape(expression, wanted))
