"""Compiles a captured graph: its parts with our kernels, the rest by PyTorch."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torch.fx import Graph

from tunesmith.networks.build.kernels import LayerKernel
from tunesmith.networks.importing.places import place_of
from tunesmith.networks.network import Network
from tunesmith.networks.torch_backend.arguments import Arguments
from tunesmith.networks.torch_backend.attempts import Attempts, RefusedError
from tunesmith.networks.torch_backend.capture import NotCapturedError, captured
from tunesmith.networks.torch_backend.options import Options
from tunesmith.networks.torch_backend.parts import divided
from tunesmith.networks.torch_backend.remarks import Remarks
from tunesmith.networks.torch_backend.support import Refused, operation, refusals
from tunesmith.networks.torch_backend.tuning import GraphTuning
from tunesmith.task import Task


class Compiler:
    """Compiles one graph of TorchDynamo, for one set of shapes after the other."""

    def __init__(
        self, graph_module: Any, arguments: Arguments, options: Options, remarks: Remarks
    ) -> None:
        self._graph_module = graph_module
        self._arguments = arguments
        self._options = options
        self._remarks = remarks
        self._tuning = GraphTuning(options, remarks)
        # Without weights: these are of one call's arguments, and may change.
        self._kernels: dict[Task, LayerKernel] = {}

    def compiled(
        self, values: Sequence[Any], kernels: dict[Task, LayerKernel]
    ) -> Callable[..., Sequence[Any]]:
        """A function of the graph's inputs, for arguments like these.

        ``kernels`` are those of other functions for the same weights, which they may have laid out,
        and it gets those of this one. Their code is the same for all weights.

        Raises ``NotCapturedError`` and ``UsageError`` where PyTorch has to compute all of it, and
        ``StoreError`` for a store that cannot be used.
        """
        for task, kernel in self._kernels.items():
            kernels.setdefault(task, kernel.without_weights())
        try:
            return self._compiled(values, kernels)
        finally:
            for task, kernel in kernels.items():
                self._kernels.setdefault(task, kernel.without_weights())

    def _compiled(
        self, values: Sequence[Any], kernels: dict[Task, LayerKernel]
    ) -> Callable[..., Sequence[Any]]:
        module = captured(self._graph_module, self._arguments, values)
        attempts = Attempts(self._options, kernels)
        refused = refusals(module.graph, {})
        while True:
            whole, parts = divided(module, refused)
            try:
                networks = attempts.networks(parts)
                if self._options.seconds:
                    self._tune(networks.values())
                pieces = attempts.pieces(parts, networks)
                break
            except RefusedError as error:
                refused = refusals(module.graph, {**refused, **error.nodes})
        self._explain(module.graph, refused, attempts)
        if not pieces:
            raise NotCapturedError("Tunesmith has no operator that would make it faster")
        for name, piece in pieces.items():
            setattr(whole, name, piece)
        return whole.forward  # type: ignore[no-any-return]

    def _explain(self, graph: Graph, refused: Refused, attempts: Attempts) -> None:
        """Say what PyTorch computes, and why."""
        for node in graph.nodes:
            why = refused.get(node.name)
            if why and node.target is not operator.getitem:
                where = place_of(node)
                what = f"{operation(node)} ({where})" if where else operation(node)
                self._remarks.say(f"PyTorch computes {what}: {why}")
        for line in attempts.lines:
            self._remarks.say(line)

    def _tune(self, networks: Iterable[Network]) -> None:
        """Tune the tasks, if some have no kernel yet. Ctrl-C keeps everything."""
        tasks: dict[Task, int] = {}
        for network in networks:
            for task, layers in network.tasks.items():
                tasks[task] = tasks.get(task, 0) + layers
        if any(task not in self._kernels for task in tasks):
            self._tuning.tune(tasks)
