"""What TorchDynamo calls: programs for the shapes that were seen, and weights that may change."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from tunesmith.errors import StoreError, describe
from tunesmith.networks.build.kernels import LayerKernel
from tunesmith.networks.torch_backend.arguments import Arguments
from tunesmith.networks.torch_backend.compiler import Compiler
from tunesmith.networks.torch_backend.options import Options
from tunesmith.networks.torch_backend.remarks import Remarks
from tunesmith.networks.torch_backend.weights import Weights, addresses_of
from tunesmith.reports.format import counted
from tunesmith.task import Task

# A graph is compiled again for weights that have changed, this many times.
_MOST_CHANGES = 3
# It is compiled for so many sets of weights at most: TorchDynamo shares one graph among the layers
# of a model that are compiled one by one, and large models have about a hundred.
_MOST_SETS = 128

Program = Callable[..., Sequence[Any]]


def described(graph_module: Any) -> str:
    """A graph in a message."""
    count = sum(node.op.startswith("call_") for node in graph_module.graph.nodes)
    return f"a graph of {counted(count, 'operation')}"


@dataclass(frozen=True)
class Variant:
    """What is compiled for one set of weights, which have changed so many times."""

    weights: Weights
    changes: int = 0
    kernels: dict[Task, LayerKernel] = field(default_factory=dict)
    programs: dict[Hashable, Program | None] = field(default_factory=dict)


class CompiledGraph:
    """A graph of TorchDynamo, compiled when it is called first.

    Weights are constants of its programs, so each set of weights has its own. If some have changed
    since, the graph is compiled for them again, and after a few times PyTorch computes it with
    these. It does so as well for sets of weights beyond a number, and for shapes beyond the one
    that the options allow.
    """

    def __init__(self, graph_module: Any, options: Options, remarks: Remarks) -> None:
        self._eager: Program = graph_module.forward
        self._name = described(graph_module)
        self._arguments = Arguments.of(graph_module)
        self._compiler = Compiler(graph_module, self._arguments, options, remarks)
        self._options = options
        self._remarks = remarks
        self._variants: dict[tuple[int, ...], Variant] = {}
        self._sets = 0
        self._lock = threading.Lock()

    def __call__(self, *values: Any) -> Sequence[Any]:
        variant = self._variant(values)
        if variant is None:
            return self._eager(*values)
        key = self._arguments.key(values)
        if key not in variant.programs:
            self._compile(key, values, variant)
        program = variant.programs.get(key)
        if program is None:
            return self._eager(*values)
        inputs = [values[place] for place in self._arguments.inputs]
        if not torch.is_grad_enabled():
            return program(*inputs)
        with torch.no_grad():  # none of the results needs gradients
            return program(*inputs)

    def _variant(self, values: Sequence[Any]) -> Variant | None:
        """What is compiled for the weights of a call; None where PyTorch is to compute it."""
        addresses = addresses_of(values, self._arguments.weights)
        variant = self._variants.get(addresses)
        if variant is None or not self._is_settled(variant, values):
            with self._lock:
                variant = self._renewed(addresses, values)
        return None if variant is None or variant.changes > _MOST_CHANGES else variant

    def _is_settled(self, variant: Variant, values: Sequence[Any]) -> bool:
        return variant.changes > _MOST_CHANGES or variant.weights.are_unwritten(values)

    def _renewed(self, addresses: tuple[int, ...], values: Sequence[Any]) -> Variant | None:
        """A variant for weights that are new or have changed; what was for others that are gone is
        dropped."""
        old = self._variants.get(addresses)
        if old is not None and self._is_settled(old, values):
            return old  # another thread has made it
        if old is None:
            every = self._variants.values()
            old = next((each for each in every if each.weights.were_of(values)), None)
        if old is None and self._sets == _MOST_SETS:
            self._remarks.say(
                f"PyTorch computes {self._name}: it has more sets of weights than {_MOST_SETS}"
            )
            return None
        if old is None:
            self._sets += 1
        changes = 0 if old is None else old.changes + 1
        self._drop(old)
        made = Variant(Weights.of(values, self._arguments.weights), changes)
        self._variants[addresses] = made
        if changes:
            self._remarks.say(
                f"PyTorch computes {self._name}: its weights change again and again"
                if changes > _MOST_CHANGES
                else f"the weights of {self._name} have changed: it is compiled again"
            )
        return made

    def _drop(self, old: Variant | None) -> None:
        """Drop a variant, and those whose weights are gone."""
        variants = self._variants.values()
        dropped = [each for each in variants if each is old or each.weights.are_gone]
        had_programs = any(each.programs for each in dropped)
        for each in dropped:
            del self._variants[each.weights.addresses]
            each.programs.clear()
            each.kernels.clear()
        if had_programs:
            gc.collect()  # graphs of FX are cycles, and hold the weights as they were laid out

    def _compile(self, key: Hashable, values: Sequence[Any], variant: Variant) -> None:
        """Note the program for arguments like these; None where PyTorch is to compute them."""
        with self._lock:
            if key in variant.programs:
                return
            why = "there are more input shapes than the option shapes allows"
            if len(variant.programs) < self._options.shapes:
                try:
                    # Tensors that are made in inference mode cannot be exported.
                    with torch.inference_mode(False), torch.no_grad():
                        variant.programs[key] = self._compiler.compiled(values, variant.kernels)
                    return
                except StoreError:
                    raise
                except Exception as error:  # libraries may raise anything
                    why = describe(error)
                variant.programs[key] = None
            self._remarks.say(f"PyTorch computes {self._name}: {why}")
