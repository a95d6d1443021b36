"""The libraries that ours is compared with: what each can compute, and how it is called at best."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.errors import unknown_name
from tunesmith.operators import (
    BatchMatmul,
    Conv2d,
    Dense,
    DepthwiseConv2d,
    Matmul,
    Operator,
    ProductOperator,
)

Call = Callable[[], Any]

_PRODUCTS = (Matmul, BatchMatmul, Dense, Conv2d, DepthwiseConv2d)


@dataclass(frozen=True)
class LibraryPeer:
    """A way to compute operators with another library.

    ``call`` takes the operator, its inputs as NumPy arrays and the number of threads, does all that
    need not be repeated (laying out weights above all), and returns a call of the operator.
    ``refuses`` says in one line why it cannot compute an operator, None where it can. ``packages``
    are what it needs, ``how`` says to people how it is called.
    """

    name: str
    title: str
    packages: tuple[str, ...]
    how: str
    refuses: Callable[[Operator], str | None]
    call: Callable[[Operator, Sequence[Any], int], Call]

    def missing(self) -> str | None:
        """Why it is not there, None if it is."""
        absent = [name for name in self.packages if importlib.util.find_spec(name) is None]
        return f"not installed: {', '.join(absent)}" if absent else None

    def side(self, operator: Operator, cores: int) -> dict[str, Any]:
        """It as a side of a comparison."""
        return {"kind": "peer", "peer": self.name, "operator": operator.to_json(), "cores": cores}


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
    packages = [name for peer in _PEERS for name in peer.packages] + ["xgboost"]
    return {
        name: _version(name)
        for name in dict.fromkeys(packages)
        if importlib.util.find_spec(name) is not None
    }


def _version(package: str) -> str:
    """Of the distribution that holds a package; its name may be another one (xgboost-cpu)."""
    holders = importlib.metadata.packages_distributions()[package]
    return importlib.metadata.version(holders[0])


def _plain(operator: Operator) -> str | None:
    """What holds for the peers that know float32 products of images in NCHW alone."""
    if not isinstance(operator, _PRODUCTS):
        return f"not compared for {operator.name}"
    if operator.dtype != "float32":
        return f"not compared for {operator.dtype}"
    if getattr(operator, "layout", "NCHW") != "NCHW":
        return "not compared for NHWC"
    return None


def _constant_weights(operator: Operator) -> str | None:
    if not isinstance(operator, ProductOperator) or not operator.constant_weights:
        return "no constant weights that it could lay out beforehand"
    return _no_residual(operator) or _plain(operator)


def _no_residual(operator: ProductOperator) -> str | None:
    return "not compared with a residual" if operator.residual else None


def _onednn(operator: Operator) -> str | None:
    if isinstance(operator, BatchMatmul) and operator.transpose != "NN":
        return "for float32 batches PyTorch has a grouped convolution of it alone: none transposed"
    if isinstance(operator, Matmul | BatchMatmul | Dense):
        return _no_residual(operator) or _plain(operator)
    return _constant_weights(operator)


def _onednn_blocked(operator: Operator) -> str | None:
    if isinstance(operator, Matmul | BatchMatmul | Dense):
        return "matrices have no blocked format"
    return _constant_weights(operator)


def _numpy(operator: Operator) -> str | None:
    if isinstance(operator, DepthwiseConv2d) or getattr(operator, "groups", 1) != 1:
        return "NumPy has no matrix product for grouped convolutions"
    return _plain(operator)


def _torch(operator: Operator) -> str | None:
    if operator.dtype == "int8":
        return f"PyTorch has no {operator.name} of int8 that adds up in int32"
    return None


def _call_torch(operator: Operator, inputs: Sequence[Any], cores: int) -> Call:
    from tunesmith.bench.torch_operators import torch_call, use_threads

    use_threads(cores)
    return torch_call(operator, inputs)


def _call_onednn(operator: Operator, inputs: Sequence[Any], cores: int) -> Call:
    from tunesmith.bench.onednn_operators import onednn_call

    return onednn_call(operator, inputs, cores)


def _call_onednn_blocked(operator: Operator, inputs: Sequence[Any], cores: int) -> Call:
    from tunesmith.bench.onednn_operators import onednn_blocked_call

    return onednn_blocked_call(operator, inputs, cores)


def _call_torch_compile(operator: Operator, inputs: Sequence[Any], cores: int) -> Call:
    from tunesmith.bench.torch_compiled import compiled_call

    return compiled_call(operator, inputs, cores)


def _call_onnxruntime(operator: Operator, inputs: Sequence[Any], cores: int) -> Call:
    from tunesmith.bench.onnx_operators import onnxruntime_call

    return onnxruntime_call(operator, inputs, cores)


def _call_numpy(operator: Operator, inputs: Sequence[Any], _cores: int) -> Call:
    from tunesmith.bench.numpy_operators import numpy_call

    return numpy_call(operator, inputs)


_PEERS = (
    LibraryPeer(
        "pytorch",
        "PyTorch",
        ("torch",),
        "eager mode, plain tensors, its own choice of library (oneDNN, MKL)",
        _torch,
        _call_torch,
    ),
    LibraryPeer(
        "onednn",
        "oneDNN",
        ("torch",),
        "through PyTorch, by the fastest of its entry points; constant weights laid out "
        "beforehand, data in plain layout, result left in the layout that oneDNN chooses; matrices "
        "that are no weights are taken as they lie, a batch of them as a grouped convolution",
        _onednn,
        _call_onednn,
    ),
    LibraryPeer(
        "onednn-blocked",
        "oneDNN, blocked",
        ("torch",),
        "the same, but the data lies in a layout of its own already, as between two layers of a "
        "network: blocked, or with the channels last, whichever is faster",
        _onednn_blocked,
        _call_onednn_blocked,
    ),
    LibraryPeer(
        "torch-compile",
        "torch.compile",
        ("torch",),
        "TorchInductor; constant weights are frozen, so that it lays them out beforehand",
        _plain,
        _call_torch_compile,
    ),
    LibraryPeer(
        "onnxruntime",
        "ONNX Runtime",
        ("onnxruntime", "onnx"),
        "a model of this operator alone, all graph optimisations, constant weights as "
        "initialisers, inputs and outputs bound",
        _plain,
        _call_onnxruntime,
    ),
    LibraryPeer(
        "numpy",
        "NumPy",
        ("numpy",),
        "matrix products; a convolution gathers its windows first (im2col), which is counted",
        _numpy,
        _call_numpy,
    ),
)
