"""A network: the layers that our operators cover, what is left, and the tasks to tune."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tunesmith.budget import Budget
from tunesmith.measure.trial.measurers import Measurers
from tunesmith.networks.build.kernels import layer_kernel
from tunesmith.networks.build.module import built_module
from tunesmith.networks.build.selection import Choice, selected
from tunesmith.networks.compiled import CompiledNetwork
from tunesmith.networks.files import Description
from tunesmith.networks.graph import Graph, Value
from tunesmith.networks.layers.cover import Step, covered
from tunesmith.networks.layers.layer import Layer
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
    """A network for a target. ``from_torch`` makes it."""

    graph: Graph
    steps: tuple[Step, ...]
    target: Target

    @classmethod
    def of(cls, graph: Graph, target: Target | str = "cpu") -> Network:
        """The network of a graph: simplified, and covered with layers."""
        plain = simplified(graph)
        return cls(plain, covered(plain), Target.of(target))

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
        self, store: Store | None = None, *, say: Callable[[Task], None] = lambda _: None
    ) -> CompiledNetwork:
        """Compile the network with the best programs of a store, and the model's picks for others.

        ``say`` hears of each task before its program is chosen. Raises ``UsageError`` and
        ``TunesmithError`` like ``Kernel.build``.
        """
        return self.built(selected(self.tasks, store, say=say))

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
            inputs=tuple(_argument(value, value.name) for value in self.graph.inputs),
            outputs=tuple(
                _argument(value, f"output{number}")
                for number, value in enumerate(self.graph.outputs)
            ),
            weights=weights,
            processor=self.target.processor,
            cores=self.target.core_count,
        )
        return CompiledNetwork(description, built.executable, built.weights)


def _argument(value: Value, name: str) -> Argument:
    return Argument(name, value.shape, value.dtype)


def from_torch(model: Any, example: Any, target: Target | str = "cpu") -> Network:
    """The network of a ``torch.nn.Module``, for inputs like ``example``: an array or several.

    Raises ``UsageError`` where it cannot be exported or imported, ``MissingDependencyError``
    without PyTorch.
    """
    from tunesmith.networks.importing.pytorch import exported, module_of
    from tunesmith.networks.relax import graph_of

    inputs = example if isinstance(example, tuple | list) else (example,)
    return Network.of(graph_of(module_of(exported(model, inputs))["main"]), target)
