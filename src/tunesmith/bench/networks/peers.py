"""The runtimes that built networks are compared with, and how each is called at best."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tunesmith.bench.networks.model import ComparedModel
from tunesmith.bench.pages.provenance import installed_versions
from tunesmith.target import Target


@dataclass(frozen=True)
class NetworkPeer:
    """A runtime for networks.

    ``function`` (``module:name`` in this folder) makes a call of a network on so many threads,
    imported only then: one process holds one library. ``takes`` says whether the network must be
    one of PyTorch, or in ONNX. ``packages`` are what it needs, ``how`` says to people how it is
    called. One that is ``slow`` does not take turns: it is timed once, in a process of its own.
    ``kinds`` of targets are those whose devices it runs on here.
    """

    name: str
    title: str
    packages: tuple[str, ...]
    how: str
    function: str
    takes: str = "torch"
    slow: bool = False
    kinds: tuple[str, ...] = ("cpu",)

    def call(self, model: ComparedModel, cores: int, **options: Any) -> Callable[[], Any]:
        """A call; ``options`` are further ones of the function."""
        module, _, name = self.function.partition(":")
        prepare = getattr(importlib.import_module(f"{__package__}.{module}"), name)
        call: Callable[[], Any] = prepare(model, cores, **options)
        return call

    def missing(self, model: ComparedModel) -> str | None:
        """Why it cannot run a network, None if it can."""
        absent = [name for name in self.packages if importlib.util.find_spec(name) is None]
        if absent:
            return f"not installed: {', '.join(absent)}"
        if self.takes == "torch" and not model.is_torch:
            return "it takes no network in ONNX"
        if self.takes == "onnx" and model.onnx is None:
            return model.why_no_onnx
        return None

    def side(self, model: ComparedModel, target: Target) -> dict[str, Any]:
        """It as a side of a comparison, on the target's device."""
        side = {"kind": "peer", "peer": self.name, "model": model.to_json()}
        device = {} if target.kind == "cpu" else {"device": target.kind}
        return {**side, "cores": target.core_count, **device}


def network_peers(kind: str = "cpu") -> Mapping[str, NetworkPeer]:
    """All for a kind of target by name, in the order in which they are shown."""
    return {peer.name: peer for peer in _PEERS if kind in peer.kinds}


def versions_of_network_peers(kind: str = "cpu") -> dict[str, str]:
    """The installed packages that peers for a kind of target use, with their versions."""
    peers = network_peers(kind).values()
    return installed_versions(name for peer in peers for name in peer.packages)


_BOTH = ("cpu", "cuda")
_PEERS = (
    NetworkPeer(
        "openvino",
        "OpenVINO",
        ("openvino",),
        "for latency, in float32, on one stream, inputs bound; the network as ONNX, or as the "
        "module of PyTorch where there is one, whichever is faster",
        "openvino:openvino_call",
        takes="any",
    ),
    NetworkPeer(
        "onnxruntime",
        "ONNX Runtime",
        ("onnxruntime", "onnx"),
        "all graph optimisations, inputs and outputs bound",
        "onnxruntime:onnxruntime_call",
        takes="onnx",
    ),
    NetworkPeer(
        "torch-compile",
        "torch.compile",
        ("torch",),
        "TorchInductor with frozen weights; plain data or channels last, whichever is faster",
        "torch:compiled_call",
        kinds=_BOTH,
    ),
    NetworkPeer(
        "pytorch",
        "PyTorch",
        ("torch",),
        "eager mode, channels last or plain data, whichever is faster",
        "torch:eager_call",
        kinds=_BOTH,
    ),
    NetworkPeer(
        "tvm",
        "TVM",
        ("tvm",),
        "its default pipeline, untuned; timed once, by itself",
        "tvm_default:tvm_call",
        takes="any",
        slow=True,
    ),
)
