"""The networks of the zoo."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.networks.small import torch
from tunesmith.errors import UsageError
from tunesmith.networks import from_torch
from tunesmith.networks.layers.layer import Layer
from tunesmith.networks.zoo import ZOO

# Of each network how many layers it has, how many tasks, and the operations that none covers.
FOUND = {
    "dqn": (5, 5, {"reshape"}),
    "dcgan": (5, 5, set[str]()),
    "mobilenet_v1": (29, 21, {"reshape"}),
}


@pytest.mark.parametrize("name", FOUND)
def test_networks_are_covered(name: str) -> None:
    model = ZOO.get(name)
    network = from_torch(model.model(), model.example(1))
    rest = {step.op for step in network.steps if not isinstance(step, Layer)}
    assert (len(network.layers), len(network.tasks), rest) == FOUND[name]


@pytest.mark.skipif(find_spec("torchvision") is None, reason="torchvision is not installed")
def test_resnet18_of_torchvision_is_covered() -> None:
    model = ZOO.get("resnet18")
    network = from_torch(model.model(), model.example(1))
    assert (len(network.layers), len(network.tasks)) == (23, 18)
    assert sum("residual=true" in layer.operator.key for layer in network.layers) == 8


def test_weights_are_the_same_each_time() -> None:
    first, second = (ZOO.get("dqn").model().state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_names_of_the_zoo() -> None:
    assert len(ZOO.names()) == 14
    with pytest.raises(UsageError, match="unknown network 'resnet19': did you mean resnet18"):
        ZOO.get("resnet19")
