"""What TorchDynamo calls: programs for the shapes that were seen, and weights that may change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch

from tunesmith.errors import StoreError, describe
from tunesmith.networks.torch_backend.arguments import Arguments
from tunesmith.networks.torch_backend.compiler import Compiler
from tunesmith.networks.torch_backend.options import Options
from tunesmith.networks.torch_backend.remarks import Remarks
from tunesmith.networks.torch_backend.weights import Weights
from tunesmith.reports.format import counted

# A graph is compiled again for weights that have changed, this many times.
_MOST_CHANGES = 3

Program = Callable[..., Sequence[Any]]


def described(graph_module: Any) -> str:
    """A graph in a message."""
    count = sum(node.op.startswith("call_") for node in graph_module.graph.nodes)
    return f"a graph of {counted(count, 'operation')}"


class CompiledGraph:
    """A graph of TorchDynamo, compiled when it is called first.

    Weights are constants of its programs. If they have changed since, it is compiled again, and
    after a few times PyTorch computes it. It does so as well for shapes beyond the number that the
    options allow.
    """

    def __init__(self, graph_module: Any, options: Options, remarks: Remarks) -> None:
        self._eager: Program = graph_module.forward
        self._name = described(graph_module)
        self._arguments = Arguments.of(graph_module)
        self._compiler = Compiler(graph_module, self._arguments, options, remarks)
        self._options = options
        self._remarks = remarks
        self._programs: dict[Hashable, Program | None] = {}
        self._weights: Weights | None = None
        self._changes = 0
        self._lock = threading.Lock()

    def __call__(self, *values: Any) -> Sequence[Any]:
        if self._changes <= _MOST_CHANGES and (
            self._weights is None or not self._weights.are_in(values)
        ):
            self._renew(values)
        if self._changes > _MOST_CHANGES:
            return self._eager(*values)
        key = self._arguments.key(values)
        if key not in self._programs:
            self._compile(key, values)
        program = self._programs.get(key)
        if program is None:
            return self._eager(*values)
        inputs = [values[place] for place in self._arguments.inputs]
        if not torch.is_grad_enabled():
            return program(*inputs)
        with torch.no_grad():  # none of the results needs gradients
            return program(*inputs)

    def _renew(self, values: Sequence[Any]) -> None:
        """Forget what was compiled for other weights."""
        with self._lock:
            if self._weights is not None and not self._weights.are_in(values):
                self._changes += 1
                self._programs.clear()
                often = self._changes > _MOST_CHANGES
                self._remarks.say(
                    f"PyTorch computes {self._name}: its weights change again and again"
                    if often
                    else f"the weights of {self._name} have changed: it is compiled again"
                )
            self._weights = Weights.of(values, self._arguments.weights)

    def _compile(self, key: Hashable, values: Sequence[Any]) -> None:
        """Note the program for arguments like these; None where PyTorch is to compute them."""
        with self._lock:
            if key in self._programs:
                return
            why = "there are more input shapes than the option shapes allows"
            if len(self._programs) < self._options.shapes:
                try:
                    # Tensors that are made in inference mode cannot be exported.
                    with torch.inference_mode(False), torch.no_grad():
                        self._programs[key] = self._compiler.compiled(values)
                    return
                except StoreError:
                    raise
                except Exception as error:  # libraries may raise anything
                    why = describe(error)
                self._programs[key] = None
            self._remarks.say(f"PyTorch computes {self._name}: {why}")
