"""The networks of the zoo: ours, torchvision's, and those of installed packages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tunesmith.errors import MissingDependencyError
from tunesmith.registry import Registry

SEED = 0
"""Weights are random, and the same each time."""
# The batch that batch norm takes its statistics from: one of 1 has none where images are a pixel.
_CALIBRATED = 2


@dataclass(frozen=True)
class ZooModel:
    """A network: ``make`` gives the ``torch.nn.Module``, ``example`` its inputs for a batch."""

    summary: str
    make: Callable[[], Any]
    example: Callable[[int], tuple[Any, ...]]

    def model(self) -> Any:
        """The module for inference. Raises ``MissingDependencyError`` without what it needs."""
        try:
            import torch
        except ImportError:
            raise MissingDependencyError(
                "the zoo's networks need PyTorch: pip install 'tunesmith[networks]'"
            ) from None
        torch.manual_seed(SEED)
        module = self.make()
        _let_inputs_matter(module, self.example(_CALIBRATED))
        return module.eval()


def _let_inputs_matter(module: Any, example: tuple[Any, ...]) -> None:
    """Give a module weights and statistics with which its results depend on its inputs.

    With random weights alone activations may vanish from layer to layer, and some classifiers begin
    with zeros: a compiled network would equal that whatever it computes. Batch norm takes its
    statistics from ``example``, as in training.
    """
    import torch
    from torch import nn

    norms = [each for each in module.modules() if isinstance(each, nn.BatchNorm2d)]
    for each in module.modules():
        if isinstance(each, nn.Linear) and not each.weight.any():
            nn.init.normal_(each.weight, std=each.in_features**-0.5)
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 1.0
    with torch.no_grad():
        module.train()(*example)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum


_TORCHVISION = (
    "resnet18",
    "resnet50",
    "mobilenet_v2",
    "alexnet",
    "vgg16",
    "squeezenet",
    "inception_v3",
    "efficientnet_b0",
    "vit_b_16",
)
_OURS = {name: f"tunesmith.networks.zoo.vision:{name}" for name in _TORCHVISION} | {
    "mobilenet_v1": "tunesmith.networks.zoo.mobilenet_v1:mobilenet_v1",
    "dqn": "tunesmith.networks.zoo.dqn:dqn",
    "dcgan": "tunesmith.networks.zoo.dcgan:dcgan",
    "lstm_lm": "tunesmith.networks.zoo.lstm_lm:lstm_lm",
    "bert_base": "tunesmith.networks.zoo.bert:bert_base",
}


def _model(found: object) -> ZooModel | None:
    return found if isinstance(found, ZooModel) else None


ZOO = Registry("network", "zoo", _OURS, _model, "a ZooModel", listed=False)
