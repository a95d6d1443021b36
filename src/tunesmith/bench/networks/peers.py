"""The runtimes that built networks are compared with, and how each is called at best."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tunesmith.bench.networks.model import ComparedModel
from tunesmith.bench.pages.provenance import installed_versions


@dataclass(frozen=True)
class NetworkPeer:
    """A runtime for networks.

    ``function`` (``module:name`` in this folder) makes a call of a network on so many threads,
    imported only then: one process holds one library. ``takes`` says whether the network must be
    one of PyTorch, or in ONNX. ``packages`` are what it needs, ``how`` says to people how it is
    called. One that is ``slow`` does not take turns: it is timed once, in a process of its own.
    """

    name: str
    title: str
    packages: tuple[str, ...]
    how: str
    function: str
    takes: str = "torch"
    slow: bool = False

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

    def side(self, model: ComparedModel, cores: int) -> dict[str, Any]:
        """It as a side of a comparison."""
        return {"kind": "peer", "peer": self.name, "model": model.to_json(), "cores": cores}


def network_peers() -> Mapping[str, NetworkPeer]:
    """All by name, in the order in which they are shown."""
    return {peer.name: peer for peer in _PEERS}


def versions_of_network_peers() -> dict[str, str]:
    """The installed packages that peers use, with their versions."""
    return installed_versions(name for peer in _PEERS for name in peer.packages)


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
    ),
    NetworkPeer(
        "pytorch",
        "PyTorch",
        ("torch",),
        "eager mode, channels last or plain data, whichever is faster",
        "torch:eager_call",
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
