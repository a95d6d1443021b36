"""A network: the layers that our operators cover, what is left, and the tasks to tune."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tunesmith.budget import Budget
from tunesmith.errors import UsageError
from tunesmith.measure.trial.measurers import Measurers
from tunesmith.networks.build.kernels import layer_kernel
from tunesmith.networks.build.module import built_module
from tunesmith.networks.build.selection import Choice, selected
from tunesmith.networks.check import LIMIT, Source, check, random_inputs
from tunesmith.networks.compiled import CompiledNetwork
from tunesmith.networks.files import Description
from tunesmith.networks.graph import Array, Graph, Value
from tunesmith.networks.indices import index_bounds
from tunesmith.networks.layers.cover import Step, covered
from tunesmith.networks.layers.layer import Layer
from tunesmith.networks.relax import graph_of
from tunesmith.networks.simplify import simplified
from tunesmith.networks.tune import HowToTune, NetworkProgress, NetworkResult, tune_tasks
from tunesmith.operators import Argument
from tunesmith.problem import MeasureSettings
from tunesmith.store import Store
from tunesmith.target import Target
from tunesmith.task import Task
from tunesmith.tuners import Tuner


@dataclass(frozen=True)
class Network:
    """A network for a target. ``from_torch`` and ``from_onnx`` make it.

    ``source`` is what builds are compared with: the framework that it is from.
    """

    graph: Graph
    steps: tuple[Step, ...]
    target: Target
    source: Source | None = None

    @classmethod
    def of(
        cls, graph: Graph, target: Target | str = "cpu", source: Source | None = None
    ) -> Network:
        """The network of a graph: simplified, and covered with layers.

        Raises ``UsageError`` for a GPU: networks are built for CPUs so far.
        """
        target = Target.of(target)
        if target.kind != "cpu":
            raise UsageError(f"networks are built for CPUs, not for {target.key}: leave it out")
        plain = simplified(graph)
        return cls(plain, covered(plain), target, source)

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """What a call takes."""
        return tuple(_argument(value, value.name) for value in self.graph.inputs)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The calls of our operators, in order."""
        return tuple(step for step in self.steps if isinstance(step, Layer))

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
        settings: MeasureSettings | None = None,
        measurers: Measurers | None = None,
        progress: Callable[[NetworkProgress], None] | None = None,
    ) -> NetworkResult:
        """Tune the tasks: what ``tunesmith.tune`` does with a network. See ``tune_tasks``."""
        how = HowToTune(tuner, store, seed, settings, measurers)
        return tune_tasks(self.tasks, budget, how, progress)

    def build(
        self,
        store: Store | None = None,
        *,
        inputs: Sequence[Array] | None = None,
        limit: float = LIMIT,
        say: Callable[[Task], None] = lambda _: None,
    ) -> CompiledNetwork:
        """Compile the network with the best programs of a store, and the model's picks for others.

        The result is compared with the network's source on ``inputs``, random ones by default.
        ``say`` hears of each task before its program is chosen. Raises ``UsageError`` and
        ``TunesmithError`` like ``Kernel.build``, and ``TunesmithError`` if the relative error is
        above ``limit``.
        """
        compiled = self.built(selected(self.tasks, store, say=say))
        if self.source is not None:
            given = random_inputs(self.inputs) if inputs is None else inputs
            compiled.relative_error = check(compiled, self.source, given, limit)
        return compiled

    def built(self, choices: Mapping[Task, Choice]) -> CompiledNetwork:
        """Compile the network with these programs."""
        kernels = {
            task: layer_kernel(f"layer{number}_{task.operator.name}", choice)
            for number, (task, choice) in enumerate(choices.items())
        }
        of_layers = {layer: kernels[self.task_of(layer)] for layer in self.layers}
        built = built_module(self.graph, self.steps, of_layers, self.target)
        weights = tuple(
            Argument(f"weight{number}", tuple(weight.shape), str(weight.dtype))
            for number, weight in enumerate(built.weights)
        )
        description = Description(
            inputs=self.inputs,
            outputs=tuple(
                _argument(value, f"output{number}")
                for number, value in enumerate(self.graph.outputs)
            ),
            weights=weights,
            processor=self.target.processor,
            cores=self.target.core_count,
            bounds={value.name: rows for value, rows in index_bounds(self.graph).items()},
        )
        return CompiledNetwork(description, built.executable, built.weights)


def _argument(value: Value, name: str) -> Argument:
    return Argument(name, value.shape, value.dtype)


def from_torch(model: Any, example: Any, target: Target | str = "cpu") -> Network:
    """The network of a ``torch.nn.Module``, for inputs like ``example``: an array or several.

    Raises ``UsageError`` where it cannot be exported or imported, ``MissingDependencyError``
    without PyTorch.
    """
    from tunesmith.networks.importing.pytorch import exported

    inputs = example if isinstance(example, tuple | list) else (example,)
    return from_exported(exported(model, inputs), target)


def from_exported(program: Any, target: Target | str = "cpu") -> Network:
    """The network of a ``torch.export.ExportedProgram``. Raises like ``from_torch``."""
    from tunesmith.networks.importing.pytorch import module_of, source_of

    return Network.of(graph_of(module_of(program)["main"]), target, source_of(program))


def from_onnx(path: str | Path, batch: int = 1, target: Target | str = "cpu") -> Network:
    """The network of an ONNX file; ``batch`` stands for a first size that the file leaves open.

    Raises ``UsageError`` for a file that is no model and for what cannot be imported,
    ``MissingDependencyError`` without the package ``onnx``.
    """
    from tunesmith.networks.importing.onnx import module_of, read_model, source_of

    model = read_model(path)
    return Network.of(graph_of(module_of(model, batch)["main"]), target, source_of(model))


def from_file(path: str | Path, batch: int = 1, target: Target | str = "cpu") -> Network:
    """The network of a file: ``.onnx``, or ``.pt2`` of ``torch.export.save``.

    Raises ``UsageError`` for another kind of file, and like ``from_onnx`` and ``from_torch``.
    """
    from tunesmith.networks.importing.pytorch import read_program

    kind = Path(path).suffix
    if kind == ".onnx":
        return from_onnx(path, batch, target)
    if kind == ".pt2":
        return from_exported(read_program(path), target)
    raise UsageError(f"{path} is neither .onnx nor .pt2: export the model to one of them")
