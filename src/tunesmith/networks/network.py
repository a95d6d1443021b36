"""A network: the layers that our operators cover, what is left, and the tasks to tune."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from tunesmith.budget import Budget
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.kernel import arrays
from tunesmith.measure.trial.measurers import Measurers
from tunesmith.networks.build.contenders import CONTENDERS
from tunesmith.networks.build.kernels import LayerKernel, layer_kernel
from tunesmith.networks.build.module import built_module
from tunesmith.networks.build.programs import (
    BuildState,
    HowToBuild,
    compiled_kernels,
    kernel_name,
)
from tunesmith.networks.build.selection import Choice, Origin
from tunesmith.networks.build.weights_limit import MAX_WEIGHTS_GROWTH, Use
from tunesmith.networks.check import LIMIT, Source, SourceError, check, random_inputs
from tunesmith.networks.compiled import CompiledNetwork
from tunesmith.networks.description import Description, Entry, KernelDescription
from tunesmith.networks.graph import Array, Graph, Value
from tunesmith.networks.in_place import Contenders, times_in_place
from tunesmith.networks.indices import index_bounds
from tunesmith.networks.layers.cover import CoveredGraph, Step, covered
from tunesmith.networks.layers.layer import Layer
from tunesmith.networks.layers.schedulable import with_sketches
from tunesmith.networks.processors import runs_here
from tunesmith.networks.simplify import simplified
from tunesmith.networks.tune import HowToTune, NetworkProgress, NetworkResult, tune_tasks
from tunesmith.operators import Argument
from tunesmith.problem import MeasureSettings
from tunesmith.sketches.tir.weights import WEIGHT, has_constant_weights
from tunesmith.store import Store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.transfer.of_store import Tell, Transfer, model_for
from tunesmith.tuners import Tuner


@dataclass(frozen=True)
class Network:
    """A network for a target. ``from_torch`` and ``from_onnx`` make it.

    It has one of ``graphs`` for each batch that it takes, the smallest first. ``source`` is what
    builds are compared with: the framework that it is from.
    """

    graphs: tuple[CoveredGraph, ...]
    target: Target
    source: Source | None = None

    @classmethod
    def of(
        cls,
        graphs: Graph | Sequence[Graph],
        target: Target | str = "cpu",
        source: Source | None = None,
    ) -> Network:
        """The network of a graph, or of one for each batch: simplified, and covered with layers.

        Raises ``UsageError`` for graphs of the same batch.
        """
        target = Target.of(target)
        each = (graphs,) if isinstance(graphs, Graph) else graphs
        found = (with_sketches(covered(simplified(graph)), target) for graph in each)
        network = cls(tuple(found), target, source)
        if len(each) > 1 and len(set(network.batches)) < len(each):
            raise UsageError("the first input has the same batch each time: name one batch")
        return network

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """What a call with the first batch takes."""
        return _inputs(self.graphs[0])

    @cached_property
    def bounds(self) -> Mapping[str, int]:
        """Inputs that are indices, by name: below what they must be."""
        return {
            value.name: rows
            for graph in self.graphs
            for value, rows in index_bounds(graph.graph).items()
        }

    def example(self) -> dict[str, Array]:
        """Random inputs of the first batch, by name."""
        names = [argument.name for argument in self.inputs]
        return dict(zip(names, random_inputs(self.inputs, self.bounds), strict=True))

    @property
    def batches(self) -> tuple[int, ...]:
        """The first sizes of the first input; none if there is no such size."""
        return tuple(each.graph.batch for each in self.graphs if each.graph.batch is not None)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Layers, and nodes that none covers, of all batches in order."""
        return tuple(step for graph in self.graphs for step in graph.steps)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The calls of our operators, of all batches in order."""
        return tuple(layer for graph in self.graphs for layer in graph.layers)

    @cached_property
    def tasks(self) -> Mapping[Task, int]:
        """What there is to tune, and how many layers each task has."""
        return Counter(self.task_of(layer) for layer in self.layers)

    def task_of(self, layer: Layer) -> Task:
        return Task(layer.operator, self.target)

    def tune(
        self,
        tuner: Tuner,
        budget: Budget,
        store: Store,
        *,
        seed: int = 0,
        transfer: Transfer = True,
        tell: Tell | None = None,
        settings: MeasureSettings | None = None,
        measurers: Measurers | None = None,
        progress: Callable[[NetworkProgress], None] | None = None,
    ) -> NetworkResult:
        """Tune the tasks: what ``tunesmith.tune`` does with a network. See ``tune_tasks``."""
        how = HowToTune(tuner, store, seed, settings, measurers, transfer, tell)
        return tune_tasks(self.tasks, budget, how, progress)

    def build(
        self,
        store: Store | None = None,
        *,
        inputs: Sequence[Array] | None = None,
        limit: float = LIMIT,
        max_weights_growth: float = MAX_WEIGHTS_GROWTH,
        contenders: int = CONTENDERS,
        seed: int = 0,
        transfer: Transfer = True,
        progress: Callable[[BuildState], None] = lambda _: None,
        say: Callable[[str], None] | None = None,
    ) -> CompiledNetwork:
        """Compile the network with the best programs of a store, and the model's picks for others.

        The programs are the fastest whose weights, as they lay them out, make all constants take at
        most ``max_weights_growth`` times their original bytes. On CPUs up to ``contenders`` of each
        task are timed inside of the network; with 1, and for another processor than this machine's,
        their times alone decide. The result is compared with the network's source on random inputs,
        and on ``inputs`` if given; if this machine cannot run either, such as without a GPU,
        ``unchecked`` of the result says so. The same ``seed`` makes the same picks, and with
        ``transfer`` these are corrected by a model of other tasks, as in ``tunesmith.tune``.
        ``progress`` hears how far the build is, ``say`` gets a line about each program that cannot
        be compiled (the next best takes its place), if the weights cannot be kept within the limit,
        and about what is wrong with a model of other tasks, which is logged without it.

        Raises ``UsageError`` for a growth or contenders below 1 and like ``Kernel.build``, and
        ``TunesmithError`` if there is no program for a task, or the relative error is above
        ``limit``.
        """
        if not max_weights_growth >= 1:
            raise UsageError(f"a growth of weights must be 1 or more, not {max_weights_growth:g}")
        if contenders < 1:
            raise UsageError(f"contenders must be 1 or more, not {contenders}")
        examples = self._examples(inputs)

        def in_place(kernels: Contenders) -> Mapping[Task, Sequence[float]]:
            return times_in_place(kernels, self.linked, examples)

        how = HowToBuild(
            store,
            seed,
            max_weights_growth,
            progress,
            say or (lambda _: None),
            contenders=contenders,
            in_place=in_place if self.target.kind == "cpu" and runs_here(self.target) else None,
            model=model_for(store, self.target, transfer, say),
        )
        kernels = compiled_kernels(self.uses, self.constant_bytes, self.target, how)
        compiled = self.linked(kernels)
        origins = [kernel.choice.origin for kernel in kernels.values()]
        compiled.stored_tasks = origins.count(Origin.STORE)
        self._check(compiled, examples, limit)
        return compiled

    def _check(
        self, compiled: CompiledNetwork, examples: Sequence[Sequence[Array]], limit: float
    ) -> None:
        """Compare a compiled network with its source, if both can run here."""
        try:
            compiled.check_runs_here()
        except TunesmithError as error:
            compiled.unchecked = str(error)
            return
        if self.source is None:
            return
        errors = []
        for each in examples:
            try:
                errors.append(check(compiled, self.source, each, limit))
            except SourceError as error:
                compiled.unchecked = str(error)
        compiled.relative_error = max(errors, default=None)

    def _examples(self, given: Sequence[Array] | None) -> Sequence[Sequence[Array]]:
        """The given inputs, and random ones for each batch."""
        each = [_inputs(graph) for graph in self.graphs]
        examples: list[Sequence[Array]] = [] if given is None else [self._fitting(given)]
        return examples + [random_inputs(arguments, self.bounds) for arguments in each]

    def _fitting(self, given: Sequence[Array]) -> Sequence[Array]:
        """Inputs that fit the network, as a call would check them. Raises ``UsageError``."""
        entries = tuple(Entry("", _inputs(graph), (), ()) for graph in self.graphs)
        described = Description(
            entries, (), self.target.processor, self.target.core_count, self.bounds
        )
        for argument, value in zip(described.entry_for(given).inputs, given, strict=True):
            arrays.input_tensor(value, argument)
            described.check_indices(argument, partial(np.asarray, value))
        return given

    @property
    def constant_bytes(self) -> int:
        """What all constants take that its steps read, each counted once."""
        read = {
            value.content: value.constant
            for graph in self.graphs
            for step in graph.steps
            for value in step.inputs
            if value.constant is not None
        }
        return sum(constant.nbytes for constant in read.values())

    @property
    def uses(self) -> Mapping[Task, Use]:
        """How the network uses each task."""
        weights: dict[Task, set[object]] = {task: set() for task in self.tasks}
        for layer in self.layers:
            if has_constant_weights(layer.operator):
                weights[self.task_of(layer)].add(layer.inputs[WEIGHT].content)
        return {task: Use(layers, frozenset(weights[task])) for task, layers in self.tasks.items()}

    def built(self, choices: Mapping[Task, Choice]) -> CompiledNetwork:
        """Compile the network with these programs, in this process."""
        return self.linked(
            {
                task: layer_kernel(kernel_name(number, task), choice)
                for number, (task, choice) in enumerate(choices.items())
            }
        )

    def linked(self, kernels: Mapping[Task, LayerKernel]) -> CompiledNetwork:
        """Link these kernels, of which it takes those of its tasks, into a network."""
        of_layers = {layer: kernels[self.task_of(layer)] for layer in self.layers}
        several = len(self.graphs) > 1
        named = {f"main_{each.graph.batch}" if several else "main": each for each in self.graphs}
        built = built_module(named, of_layers, self.target)
        description = Description(
            entries=tuple(
                Entry(
                    name,
                    _inputs(graph),
                    _outputs(graph),
                    built.reads[name],
                    tuple(built.buffers[name]),
                )
                for name, graph in named.items()
            ),
            weights=built.arguments,
            processor=self.target.processor,
            cores=self.target.core_count,
            bounds=self.bounds,
            kernels={
                kernel.name: KernelDescription(
                    task.operator.to_json(), kernel.choice.problem.sketch.name
                )
                for task, kernel in kernels.items()
                if task in self.tasks
            },
            arch=self.target.gpu_arch if self.target.kind == "cuda" else None,
            preparation=built.preparation,
            triple=self.target.triple,
        )
        return CompiledNetwork(description, built.executable, built.weights)


def _inputs(covered_graph: CoveredGraph) -> tuple[Argument, ...]:
    return tuple(_argument(value, value.name) for value in covered_graph.graph.inputs)


def _outputs(covered_graph: CoveredGraph) -> tuple[Argument, ...]:
    outputs = enumerate(covered_graph.graph.outputs)
    return tuple(_argument(value, f"output{number}") for number, value in outputs)


def _argument(value: Value, name: str) -> Argument:
    return Argument(name, value.shape, value.dtype)
