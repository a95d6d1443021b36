"""Compiled models of the tests, without a search."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from tests.networks.small import result_of, torch
from tunesmith.networks import Network
from tunesmith.networks.build.kernels import LayerKernel, layer_kernel
from tunesmith.networks.build.programs import HowToBuild, kernel_name
from tunesmith.networks.build.selection import defaults
from tunesmith.networks.build.weights_limit import Use
from tunesmith.networks.torch_backend import attempts
from tunesmith.operators import Operator
from tunesmith.target import Target
from tunesmith.task import Task

OPTIONS = {"store": "sqlite://", "cores": 1}


class Built(list[list[Operator]]):
    """The operators of the layers of each network that was built, which need no search here."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        linked = Network.linked

        def noted(network: Network, kernels: Mapping[Task, LayerKernel]) -> Any:
            self.append([layer.operator for layer in network.layers])
            return linked(network, kernels)

        monkeypatch.setattr(Network, "linked", noted)
        monkeypatch.setattr(attempts, "compiled_kernels", default_kernels)

    @property
    def names(self) -> list[list[str]]:
        return [[operator.name for operator in each] for each in self]


def default_kernels(
    uses: Mapping[Task, Use],
    _bytes: int,
    _target: Target,
    _how: HowToBuild,
    first: int,
    *,
    number: int = 0,
) -> Mapping[Task, LayerKernel]:
    """Each task with a default, the ``number``-th one."""
    return {
        task: layer_kernel(kernel_name(place, task), defaults(task)[number])
        for place, task in enumerate(uses, first)
    }


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines, without the places in the code that they name."""
    return [re.sub(r" \([^()]+, line \d+\)", "", line) for line in caplog.messages]


def compiled(model: Any) -> Any:
    return torch.compile(model, backend="tunesmith", options=OPTIONS)


def check(model: Any, *inputs: Any, ours: Any = None) -> Any:
    """Our results are those of PyTorch, of the same kinds and shapes."""
    with torch.no_grad():
        found = (compiled(model) if ours is None else ours)(*inputs)
    torch.testing.assert_close(found, result_of(model, *inputs), rtol=1e-4, atol=1e-5)
    return found


class Perceptron(torch.nn.Sequential):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.Linear(8, 4))
