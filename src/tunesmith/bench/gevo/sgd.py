"""SGD with momentum as a kernel inside of the training of a small ResNet ("GEVO-ML", figure 5).

PyTorch drives, and the kernel updates all parameters.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from tunesmith.bench.gevo.case import Case, Tested, extra_error
from tunesmith.bench.gevo.digits import digits
from tunesmith.bench.gevo.residual import residual_block, torch_on_one_thread
from tunesmith.evolve.llvm.kernel import NumbaKernel
from tunesmith.evolve.search.nsga2 import SearchSettings

_RATE, _MOMENTUM = 0.05, 0.9
_EPOCHS, _BATCH, _CHANNELS = 6, 50, 24


def momentum_sgd(parameters: Any, gradients: Any, momentum: Any, rate: float, decay: float) -> None:
    """Nesterov's momentum, as Caffe2 has it: the gradients become the steps that are taken."""
    for i in range(parameters.shape[0]):
        before = momentum[i]
        after = decay * before + rate * gradients[i]
        momentum[i] = after
        gradients[i] = (1.0 + decay) * after - decay * before
        parameters[i] -= gradients[i]


class Training:
    """Trains a network of two residual blocks on digits, and tells the accuracy on others: one
    number. ``seed`` decides the first parameters and which digits are which."""

    def __init__(self, seed: int, *, heldout: bool = False) -> None:
        self._seed = seed
        self._heldout = heldout

    @cached_property
    def _torch(self) -> Any:
        torch = torch_on_one_thread()
        torch.use_deterministic_algorithms(True)
        return torch

    def __getstate__(self) -> dict[str, Any]:
        return {"_seed": self._seed, "_heldout": self._heldout}

    def __call__(self, kernel: Any) -> float:
        torch = self._torch
        torch.manual_seed(self._seed)
        network = _network(torch)
        chosen_digits = digits(self._seed, heldout=self._heldout)
        x, y, others, right = map(torch.from_numpy, chosen_digits)
        parameters = np.concatenate([_flat(each) for each in network.parameters()])
        momentum = np.zeros_like(parameters)
        _put(network, parameters)
        for epoch in range(_EPOCHS):
            order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
            for first in range(0, len(x), _BATCH):
                chosen = order[first : first + _BATCH]
                network.zero_grad()
                loss = torch.nn.functional.cross_entropy(network(x[chosen]), y[chosen])
                loss.backward()
                gradients = np.concatenate([_flat(each.grad) for each in network.parameters()])
                kernel(parameters, gradients, momentum, _RATE, _MOMENTUM)
                _put(network, parameters)
        with torch.no_grad():
            return float((network(others).argmax(dim=1) == right).double().mean())


def _network(torch: Any) -> Any:
    nn = torch.nn

    return nn.Sequential(
        nn.Conv2d(1, _CHANNELS, 3, padding=1),
        nn.ReLU(),
        residual_block(torch, _CHANNELS),
        nn.MaxPool2d(2),
        residual_block(torch, _CHANNELS),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(4 * _CHANNELS, 10),
    )


def _flat(tensor: Any) -> Any:
    return tensor.detach().numpy().ravel()


def _put(network: Any, values: Any) -> None:
    """Make a network's parameters those of one array."""
    first = 0
    for each in network.parameters():
        own = values[first : first + each.numel()]
        each.data.numpy()[...] = own.reshape(each.shape)
        first += each.numel()


def _sgd() -> Tested:
    vector = np.zeros(2, np.float32)
    types = vector, vector, vector, np.float32(_RATE), np.float32(_MOMENTUM)
    return Tested(
        NumbaKernel(momentum_sgd, types=types, options={"error_model": "numpy"}),
        [Training(0), Training(1)],
        [Training(seed, heldout=True) for seed in (2, 3)],
        extra_error,
    )


CASE = Case(
    "sgd",
    "SGD with momentum",
    "The kernel updates the parameters of a small ResNet that learns digits for six epochs; the "
    "error is the accuracy that is lost on digits that it has not learned from.",
    _sgd,
    0.1,
    "1.79 times as fast, with an error of up to 10 %",
    claim="1.79 times as fast in the training of ResNet-18, where an error of up to 10 % was "
    "allowed.",
    timeout=60.0,
    search=SearchSettings(population=16),
)
