"""The networks of the zoo."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.networks.small import torch
from tunesmith.errors import UsageError
from tunesmith.networks import Network, from_torch
from tunesmith.networks.layers.layer import Layer
from tunesmith.networks.zoo import ZOO

_VIT = {"concat", "permute_dims", "reshape", "sliced"}

# Of each network how many layers it has, how many tasks, and the operations that none covers.
OURS = {
    "dqn": (5, 5, {"reshape"}),
    "dcgan": (5, 5, set[str]()),
    "mobilenet_v1": (29, 21, {"reshape"}),
    "bert_base": (135, 10, {"permute_dims", "reshape"}),
}
TORCHVISIONS = {
    "resnet18": (23, 18, {"reshape"}),
    "resnet50": (56, 27, {"reshape"}),
    "mobilenet_v2": (54, 32, {"reshape"}),
    "alexnet": (11, 11, {"reshape"}),
    "vgg16": (21, 17, {"reshape"}),
    "squeezenet": (30, 22, {"concat", "reshape"}),
    "inception_v3": (109, 55, {"concat", "reshape"}),
    "efficientnet_b0": (115, 68, {"reshape"}),
    "vit_b_16": (112, 11, _VIT),
}
# How many products add what is around them, such as the input of a block of ResNet.
RESIDUALS = {
    "resnet18": 8,
    "resnet50": 16,
    "mobilenet_v2": 10,
    "efficientnet_b0": 9,
    "vit_b_16": 24,
}

needs_torchvision = pytest.mark.skipif(
    find_spec("torchvision") is None, reason="torchvision is not installed"
)


def imported(name: str) -> Network:
    model = ZOO.get(name)
    return from_torch(model.model(), model.example(1))


def found(network: Network) -> tuple[int, int, set[str]]:
    rest = {step.op for step in network.steps if not isinstance(step, Layer)}
    return len(network.layers), len(network.tasks), rest


@pytest.mark.parametrize("name", OURS)
def test_networks_are_covered(name: str) -> None:
    assert found(imported(name)) == OURS[name]


@needs_torchvision
@pytest.mark.parametrize("name", TORCHVISIONS)
def test_networks_of_torchvision_are_covered(name: str) -> None:
    network = imported(name)
    assert found(network) == TORCHVISIONS[name]
    residuals = sum("residual=true" in layer.operator.key for layer in network.layers)
    assert residuals == RESIDUALS.get(name, 0)


def test_weights_are_the_same_each_time() -> None:
    first, second = (ZOO.get("dqn").model().state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_operators_that_torchvision_brings_are_not_declared_again(tmp_path: Path) -> None:
    """PyTorch ends the process if they are, so there is one for it."""
    (tmp_path / "_C.so").write_bytes(b"")
    code = f"""
from pathlib import Path
import torch
from tunesmith.networks.zoo import vision

def load(path):
    kept.append(torch.library.Library("torchvision", "FRAGMENT"))
    for name in ("nms", "qnms"):
        kept[-1].define(name + "(Tensor a, Tensor b, float c) -> Tensor")
    kept.append(path)

kept = []
torch.ops.load_library = load
vision._load_operators(Path({str(tmp_path)!r}))
print(kept[1:], torch.ops.torchvision.nms.default._schema)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "_C.so") in done.stdout
    assert "Tensor a, Tensor b" in done.stdout


def test_the_names_of_the_zoo() -> None:
    assert len(ZOO.names()) == 14
    with pytest.raises(UsageError, match="unknown network 'resnet19': did you mean resnet18"):
        ZOO.get("resnet19")


def _result(model: Any, inputs: Sequence[Any]) -> Any:
    with torch.no_grad():
        found = model(*inputs)
    return found[0] if isinstance(found, tuple) else found


@pytest.mark.parametrize(
    "name", [*OURS, "lstm_lm", *(pytest.param(it, marks=needs_torchvision) for it in TORCHVISIONS)]
)
def test_results_depend_on_inputs(name: str) -> None:
    """Else a comparison with the source would pass whatever is computed."""
    known = ZOO.get(name)
    model = known.model()
    first, second = (_result(model, known.example(1)) for _ in range(2))
    assert (first - second).abs().max() > 0.01 * first.abs().max()
    assert first.isfinite().all()
