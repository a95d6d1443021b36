"""Whole networks: from a model to a tuned program that is called like it.

net = ts.networks.from_torch(model, example)
ts.tune(net, ts.Budget(seconds=600), store=store)
compiled = net.build(store)
result = compiled(x)
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tunesmith.networks.compiled import CompiledNetwork
    from tunesmith.networks.models import from_exported, from_file, from_onnx, from_torch
    from tunesmith.networks.network import Network
    from tunesmith.networks.tune import NetworkProgress, NetworkResult, TunedTask

# Where each name lives. Imported on first use: what only calls a saved network, such as a board,
# has neither the compiler nor a store.
_HOMES = {
    "compiled": ("CompiledNetwork",),
    "models": ("from_exported", "from_file", "from_onnx", "from_torch"),
    "network": ("Network",),
    "tune": ("NetworkProgress", "NetworkResult", "TunedTask"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "CompiledNetwork",
    "Network",
    "NetworkProgress",
    "NetworkResult",
    "TunedTask",
    "from_exported",
    "from_file",
    "from_onnx",
    "from_torch",
    "load",
]


def load(path: str | Path) -> CompiledNetwork:
    """Load what ``CompiledNetwork.save`` wrote. Raises like ``CompiledNetwork.load``."""
    from tunesmith.networks.compiled import CompiledNetwork

    return CompiledNetwork.load(path)


if not TYPE_CHECKING:  # who would take every name for granted

    def __getattr__(name: str) -> Any:
        if name in _HOME_OF:
            return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        raise AttributeError(f"module '{__name__}' has no attribute {name!r}")
