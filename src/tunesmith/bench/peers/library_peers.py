"""The libraries that ours is compared with: what each can compute, and how it is called at best."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.bench.pages.provenance import installed_versions
from tunesmith.bench.peers import refusals
from tunesmith.bench.peers.hidden_instructions import why_nothing_can_be_hidden
from tunesmith.bench.peers.instruction_sets import (
    InstructionSet,
    compiled_switches,
    numpy_switches,
    openvino_switches,
    pytorch_switches,
)
from tunesmith.errors import unknown_name
from tunesmith.operators import Operator, ProductOperator


@dataclass(frozen=True)
class Held:
    """Whether a peer keeps to the instruction set that ours is compiled for, and ``how`` or why
    not, in words."""

    kept: bool
    how: str


@dataclass(frozen=True)
class LibraryPeer:
    """A way to compute operators with another library.

    ``function`` (``module:name`` in this folder) is what ``call`` calls, imported only then: one
    process holds one library. ``refuses`` says in one line why it cannot compute an operator, None
    where it can. ``packages`` are what it needs, ``how`` says to people how it is called.
    ``switches`` are what its process's environment needs to hold it to an instruction set;
    ``beyond_switches`` says in one line why they do not hold it for an operator, None where they
    do. Where they do not, or there are none, newer instructions are hidden from it.
    """

    name: str
    title: str
    packages: tuple[str, ...]
    how: str
    refuses: Callable[[Operator], str | None]
    function: str
    switches: Callable[[InstructionSet], dict[str, str]] = lambda _: {}
    beyond_switches: Callable[[Operator], str | None] = lambda _: None

    def call(self, operator: Operator, inputs: Sequence[Any], cores: int) -> Callable[[], Any]:
        """A call of the operator on these NumPy arrays, with so many threads.

        All that need not be repeated is done already, laying out weights above all.
        """
        module, _, name = self.function.partition(":")
        prepare = getattr(importlib.import_module(f"{__package__}.{module}"), name)
        call: Callable[[], Any] = prepare(operator, inputs, cores)
        return call

    def missing(self) -> str | None:
        """Why it is not there, None if it is."""
        absent = [name for name in self.packages if importlib.util.find_spec(name) is None]
        return f"not installed: {', '.join(absent)}" if absent else None

    def side(
        self, operator: Operator, cores: int, held: InstructionSet | None = None
    ) -> dict[str, Any]:
        """It as a side of a comparison, held to an instruction set as far as that is possible."""
        hide = held is not None and self._beyond_switches(operator, held) is not None
        can_hide = hide and why_nothing_can_be_hidden() is None
        return {
            "kind": "peer",
            "peer": self.name,
            "operator": operator.to_json(),
            "cores": cores,
            "environment": self.switches(held) if held else {},
            "hide_beyond": held.name if held and can_hide else None,
        }

    def how_held(self, operator: Operator, held: InstructionSet | None) -> Held | None:
        """How it is held to an instruction set, or why it is not; None where it need not be."""
        if held is None:
            return None
        by = ", ".join(f"{name}={value}" for name, value in self.switches(held).items())
        reason = self._beyond_switches(operator, held)
        if reason is None:
            return Held(True, f"held to {held.name} by {by}")
        why = why_nothing_can_be_hidden()
        if why is None:
            by = f"by {by}, and by hiding" if by else "by hiding"
            return Held(True, f"held to {held.name} {by} newer instructions from its process")
        in_spite = f", in spite of {by}" if by else ""
        return Held(False, f"not held to {held.name}: {reason}{in_spite}, and {why}")

    def _beyond_switches(self, operator: Operator, held: InstructionSet) -> str | None:
        """Why its switches do not hold it, None where they do."""
        if not self.switches(held):
            return "it has no switch"
        return self.beyond_switches(operator)


def library_peer(name: str) -> LibraryPeer:
    """The peer of that name. Raises ``UsageError`` if there is none."""
    known = library_peers()
    if name not in known:
        raise unknown_name("peer", name, known)
    return known[name]


def library_peers() -> Mapping[str, LibraryPeer]:
    """All peers by name, in the order in which they are shown."""
    return {peer.name: peer for peer in _PEERS}


def library_versions_of_peers() -> dict[str, str]:
    """The installed packages that peers use, with their versions."""
    return installed_versions([*(name for peer in _PEERS for name in peer.packages), "xgboost"])


def _beyond_switches_of_openvino(operator: Operator) -> str | None:
    if isinstance(operator, ProductOperator) and len(operator.operands[1].shape) == 2:
        return "products of matrices with constant weights are MLAS's, which has no switch"
    return None


_PEERS = (
    LibraryPeer(
        "pytorch",
        "PyTorch",
        ("torch",),
        "eager mode, plain tensors, its own choice of library (oneDNN, MKL)",
        refusals.torch,
        "torch_operators:torch_call",
        pytorch_switches,
    ),
    LibraryPeer(
        "onednn",
        "oneDNN",
        ("torch",),
        "through PyTorch, by the fastest of its entry points; constant weights laid out "
        "beforehand, data in plain layout, result left in the layout that oneDNN chooses; matrices "
        "that are no weights are taken as they lie, a batch of them as a grouped convolution",
        refusals.onednn,
        "onednn_operators:onednn_call",
        pytorch_switches,
    ),
    LibraryPeer(
        "onednn-blocked",
        "oneDNN, blocked",
        ("torch",),
        "the same, but the data lies in a layout of its own already, as between two layers of a "
        "network: blocked, or with the channels last, whichever is faster",
        refusals.onednn_blocked,
        "onednn_operators:onednn_blocked_call",
        pytorch_switches,
    ),
    LibraryPeer(
        "torch-compile",
        "torch.compile",
        ("torch",),
        "TorchInductor; constant weights are frozen, so that it lays them out beforehand",
        refusals.compiled,
        "torch_compiled:compiled_call",
        compiled_switches,
    ),
    LibraryPeer(
        "onnxruntime",
        "ONNX Runtime",
        ("onnxruntime", "onnx"),
        "a model of this operator alone, all graph optimisations, constant weights as "
        "initialisers, inputs and outputs bound",
        refusals.onnx,
        "onnx_operators:onnxruntime_call",
    ),
    LibraryPeer(
        "openvino",
        "OpenVINO",
        ("openvino", "onnx"),
        "the same model for latency, in float32, on one stream; inputs and outputs bound",
        refusals.onnx,
        "openvino_operators:openvino_call",
        openvino_switches,
        _beyond_switches_of_openvino,
    ),
    LibraryPeer(
        "numpy",
        "NumPy",
        ("numpy",),
        "matrix products; a convolution gathers its windows first (im2col), which is counted",
        refusals.numpy,
        "numpy_operators:numpy_call",
        numpy_switches,
    ),
)
