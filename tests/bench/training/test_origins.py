"""Of which networks an operator is a layer."""

from __future__ import annotations

import pytest

from tunesmith.bench.networks.workloads import NetworkWorkload
from tunesmith.bench.training.origins import networks_of_operators


def test_the_layers_of_networks_whatever_the_batch() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    told: list[str] = []
    found = networks_of_operators([NetworkWorkload("dqn"), NetworkWorkload("dqn", 8)], told.append)
    assert told == ["dqn", "dqn.b8"]
    assert set(found.values()) == {frozenset({"dqn"})}
    batches = {getattr(operator, "n", None) for operator in found if operator.name == "conv2d"}
    assert batches == {1, 8}
