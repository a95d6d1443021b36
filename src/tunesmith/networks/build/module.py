"""A network in Relax: calls of its layers' kernels, and what no layer covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.compiler.passes.pipelines import tvms_pipeline_name
from tunesmith.compiler.passes.vector_functions import register_vector_functions
from tunesmith.cuda.executable import gpu_executable
from tunesmith.errors import TunesmithError, last_line
from tunesmith.networks.build.concatenation import concatenate
from tunesmith.networks.build.fallback import scheduled_for_cpu
from tunesmith.networks.build.gpu_schedules import scheduled_for_gpu
from tunesmith.networks.build.kernels import LayerKernel
from tunesmith.networks.build.memory import planned, without_checks
from tunesmith.networks.build.weights import Weights, is_weight, preparation_of
from tunesmith.networks.description import Buffer, Preparation
from tunesmith.networks.graph import Value
from tunesmith.networks.layers.cover import CoveredGraph, Step
from tunesmith.networks.layers.layer import Layer
from tunesmith.operators import Argument
from tunesmith.sketches.tir.weights import WEIGHT, with_weights
from tunesmith.target import Target


@dataclass(frozen=True)
class BuiltModule:
    """TVM's executable: a function for each graph, which takes its inputs and then weights.

    ``reads`` has for each function the numbers of those ``weights``. They are no constants of the
    executable: TVM would print a line for each when it saves and loads them, and copy them.
    ``arguments`` describes them; those that ``preparation`` makes on a GPU are None. After them
    each function takes its ``buffers``.
    """

    executable: Any
    weights: tuple[Any, ...]
    arguments: tuple[Argument, ...]
    reads: Mapping[str, tuple[int, ...]]
    buffers: Mapping[str, Sequence[Buffer]]
    preparation: Preparation | None = None


def built_module(
    graphs: Mapping[str, CoveredGraph], kernels: Mapping[Layer, LayerKernel], target: Target
) -> BuiltModule:
    """Build graphs by the names of their functions, whose layers have these kernels."""
    from tvm import relax

    register_vector_functions()
    builder, weights = relax.BlockBuilder(), Weights()
    linked = list({id(kernel): kernel.module for kernel in kernels.values()}.values())
    buffers: dict[str, list[Buffer]] = {name: [] for name in graphs}
    try:
        reads = {
            name: _Emitter(graph, kernels, builder, weights).function(name)
            for name, graph in graphs.items()
        }
        preparation = preparation_of(builder, weights)
        called = list(graphs) if preparation is None else [*graphs, preparation.function]
        module = builder.finalize().with_attr("external_mods", linked)
        executable = _built(module, called, target, buffers)
    except TunesmithError:
        raise
    except Exception as error:
        raise TunesmithError(f"the network cannot be compiled: {last_line(error)}") from error
    tensors = tuple(weights.tensors)
    return BuiltModule(executable, tensors, weights.arguments, reads, buffers, preparation)


def _built(
    module: Any, functions: list[str], target: Target, buffers: dict[str, list[Buffer]]
) -> Any:
    """The executable of a module. ``functions`` are those that are called from outside.

    ``buffers`` gets those that they take. On a GPU they take none: TVM allocates from its pool.
    """
    from tvm import relax
    from tvm.ir.transform import Sequential
    from tvm.relax.backend import DispatchSortScan  # sorting and prefix sums
    from tvm.relax.transform import LegalizeOps

    if target.kind != "cuda":
        lowerings = [DispatchSortScan(), LegalizeOps({"relax.concat": concatenate})]
        passes = _pipeline(functions, lowerings, scheduled_for_cpu())
        passes = Sequential([passes, planned(functions, buffers)])
        return relax.build(module, target.to_tvm(), relax_pipeline=passes)
    lowerings = [DispatchSortScan(), LegalizeOps()]
    passes = _pipeline(functions, lowerings, scheduled_for_gpu())
    return gpu_executable(
        lambda: relax.build(
            module, target.to_tvm(), relax_pipeline=passes, tir_pipeline=tvms_pipeline_name()
        ),
        target.gpu_arch,
    )


def _pipeline(functions: list[str], lowerings: Sequence[Any], scheduled: Any) -> Any:
    """Relax's passes, in TVM's order: fusion of what is no layer, and memory planned.

    ``lowerings`` make functions of what is no layer, and ``scheduled`` is the pass that schedules
    them.
    """
    from tvm.ir.transform import Sequential
    from tvm.relax import transform

    return Sequential(
        [
            *lowerings,
            transform.AnnotateTIROpPattern(),
            transform.FuseOps(),
            transform.FuseTIR(),
            transform.DeadCodeElimination(functions),
            scheduled,
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
            without_checks(),
            transform.AttachGlobalSymbol(),
        ]
    )


class _Emitter:
    """Emits the function of a graph."""

    def __init__(
        self,
        covered: CoveredGraph,
        kernels: Mapping[Layer, LayerKernel],
        builder: Any,
        weights: Weights,
    ) -> None:
        self._covered = covered
        self._kernels = kernels
        self._builder = builder
        self._weights = weights
        self._expressions: dict[Value, Any] = {}

    def function(self, name: str) -> tuple[int, ...]:
        """Add the function to the builder; returns the numbers of the weights that it takes."""
        from tvm import relax

        builder, graph = self._builder, self._covered.graph
        parameters = [self._parameter(value, value.name) for value in graph.inputs]
        reads: dict[int, Any] = {}
        # A network may return a constant, whether a step reads it or not.
        read = [value for step in self._covered.steps for value in self._reads(step)]
        for value in [*read, *graph.outputs]:
            if not is_weight(value) or value in self._expressions:
                continue
            number = self._weights.number(value)
            if number not in reads:
                reads[number] = self._parameter(value, f"weight{number}")
            self._expressions[value] = reads[number]
        with builder.function(name, [*parameters, *reads.values()]):
            with builder.dataflow():
                for step in self._covered.steps:
                    self._emit(step)
                outputs = [self._expressions[value] for value in graph.outputs]
                result = outputs[0] if len(outputs) == 1 else relax.Tuple(outputs)
                result = builder.emit_output(result)
            builder.emit_func_output(result)
        return tuple(reads)

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
