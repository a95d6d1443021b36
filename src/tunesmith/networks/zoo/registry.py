"""The networks of the zoo: ours, torchvision's, and those of installed packages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tunesmith.errors import MissingDependencyError
from tunesmith.registry import Registry

SEED = 0
"""Weights are random, and the same each time."""


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
        return self.make().eval()


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
