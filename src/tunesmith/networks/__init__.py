"""Whole networks: from a model to a tuned program that is called like it.

net = ts.networks.from_torch(model, example)
ts.tune(net, ts.Budget(seconds=600), store=store)
compiled = net.build(store)
result = compiled(x)
"""

from tunesmith.networks.compiled import CompiledNetwork
from tunesmith.networks.models import from_exported, from_file, from_onnx, from_torch
from tunesmith.networks.network import Network
from tunesmith.networks.tune import NetworkProgress, NetworkResult, TunedTask

load = CompiledNetwork.load

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
