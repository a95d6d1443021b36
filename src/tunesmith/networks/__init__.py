"""Whole networks: from a model to a tuned program that is called like it.

net = ts.networks.from_torch(model, example)
compiled = net.build()
result = compiled(x)
"""

from tunesmith.networks.compiled import CompiledNetwork
from tunesmith.networks.network import Network, from_torch

load = CompiledNetwork.load

__all__ = ["CompiledNetwork", "Network", "from_torch", "load"]
