"""Tries to make networks of the parts of a graph, and finds the operations with which it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from tunesmith.errors import StoreError, describe
from tunesmith.networks.build.kernels import LayerKernel
from tunesmith.networks.build.programs import HowToBuild, compiled_kernels
from tunesmith.networks.build.selection import defaults
from tunesmith.networks.check import check, random_inputs
from tunesmith.networks.compiled import CompiledNetwork
from tunesmith.networks.network import Network
from tunesmith.networks.torch_backend.options import Options
from tunesmith.networks.torch_backend.parts import Part
from tunesmith.networks.torch_backend.piece import Piece
from tunesmith.networks.torch_backend.support import Refused
from tunesmith.operators import Elementwise
from tunesmith.reports.format import counted
from tunesmith.store import open_store
from tunesmith.task import Task
from tunesmith.transfer.of_store import model_for

T = TypeVar("T")


class RefusedError(Exception):
    """PyTorch has to compute more operations: ``nodes`` says why, "" where a part failed as a whole
    and a line says so."""

    def __init__(self, nodes: Refused) -> None:
        super().__init__()
        self.nodes = nodes


class Attempts:
    """What has become of the parts of a graph so far, by their texts.

    ``lines`` are about parts that failed as a whole. ``kernels`` gets those that are compiled.
    """

    def __init__(self, options: Options, kernels: dict[Task, LayerKernel]) -> None:
        self.lines: list[str] = []
        self._options = options
        self._kernels = kernels
        self._networks: dict[str, Network] = {}
        self._pieces: dict[str, Piece] = {}

    def networks(self, parts: Mapping[str, Part]) -> dict[str, Network]:
        """The networks of the parts that are worth a call.

        Raises ``RefusedError`` if one fails.
        """
        found = {}
        for name, part in parts.items():
            if not part.examples:
                continue
            if part.text not in self._networks:
                self._networks[part.text] = self._tried(
                    part, partial(self._network, part), self._network
                )
            if _is_worth_a_call(self._networks[part.text]):
                found[name] = self._networks[part.text]
        return found

    def pieces(
        self, parts: Mapping[str, Part], networks: Mapping[str, Network]
    ) -> dict[str, Piece]:
        """The parts compiled. Raises ``RefusedError`` if one fails."""
        found = {}
        for name, network in networks.items():
            part = parts[name]
            if part.text not in self._pieces:
                compiled = self._tried(part, partial(self._compiled, network), self._with_defaults)
                self._pieces[part.text] = Piece(compiled, part.results)
            found[name] = self._pieces[part.text]
        return found

    def _network(self, part: Part) -> Network:
        return part.network(self._options.target)

    def _compiled(self, network: Network) -> CompiledNetwork:
        """A network with the best programs of the store, and the model's picks for others."""
        uses = {task: use for task, use in network.uses.items() if task not in self._kernels}
        with open_store(self._options.store) as store:
            size, target = network.constant_bytes, network.target
            how = HowToBuild(store, model=model_for(store, target))
            self._kernels.update(compiled_kernels(uses, size, target, how, len(self._kernels)))
        return self._checked(network, network.linked(self._kernels))

    def _with_defaults(self, part: Part) -> CompiledNetwork:
        network = self._network(part)
        return self._checked(
            network, network.built({task: defaults(task)[0] for task in network.tasks})
        )

    def _checked(self, network: Network, compiled: CompiledNetwork) -> CompiledNetwork:
        """The compiled network, compared with PyTorch on random inputs."""
        if network.source is not None:
            inputs = random_inputs(network.inputs, network.bounds)
            compiled.relative_error = check(compiled, network.source, inputs, self._options.limit)
        return compiled

    def _tried(self, part: Part, make: Callable[[], T], alone: Callable[[Part], Any]) -> T:
        """What ``make`` makes of a part; if it fails, ``alone`` is tried on each of its operations.

        Libraries may raise anything. Raises ``RefusedError``, and ``StoreError`` as it is.
        """
        try:
            return make()
        except StoreError:
            raise
        except Exception as error:
            refused = _failing(part, alone)
            if not refused:
                count = counted(len(part.nodes), "operation")
                self.lines.append(f"PyTorch computes {count} of a graph: {describe(error)}")
                refused = dict.fromkeys(part.nodes, "")
            raise RefusedError(refused) from error


def _is_worth_a_call(network: Network) -> bool:
    """Whether a network has more than single elementwise operations: PyTorch calls those faster."""
    return any(
        len(layer.covers) > 1 or not isinstance(layer.operator, Elementwise)
        for layer in network.layers
    )


def _failing(part: Part, attempt: Callable[[Part], Any]) -> dict[str, str]:
    """The operations of a part that fail alone, and why; equal ones are tried once."""
    reasons: dict[str, str] = {}
    found: dict[str, str] = {}
    for name, one in part.alone().items():
        if one.kind not in reasons:
            reasons[one.kind] = _reason(one, attempt)
        if reasons[one.kind]:
            found[name] = reasons[one.kind]
    return found


def _reason(part: Part, attempt: Callable[[Part], Any]) -> str:
    """Why an attempt fails; "" if it does not."""
    try:
        attempt(part)
    except StoreError:
        raise
    except Exception as error:
        return describe(error)
    return ""
