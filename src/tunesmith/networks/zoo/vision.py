"""torchvision's networks for images."""

from __future__ import annotations

import contextlib
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

from tunesmith.errors import MissingDependencyError
from tunesmith.networks.zoo.registry import ZooModel

# Of its operators for detection torchvision declares none in Python, but asks about two there. If
# its own code for them does not load, as with a PyTorch of another build, they are declared for it.
_ASKED_FOR = ("nms", "qnms")


@cache
def _torchvision() -> Any:
    """torchvision. Raises ``MissingDependencyError``."""
    missing = MissingDependencyError(
        "this network needs torchvision: pip install 'tunesmith[networks]'"
    )
    found = importlib.util.find_spec("torchvision")
    if found is None or found.origin is None:
        raise missing
    _load_operators(Path(found.origin).parent)
    try:
        import torchvision
    except Exception as error:
        raise missing from error
    return torchvision


def _load_operators(folder: Path) -> None:
    """Load torchvision's operators from its folder, as it does itself, or declare them.

    What is declared twice ends the process, so nothing is before that is known.
    """
    import torch

    for library in sorted(folder.glob("_C*.so")):
        with contextlib.suppress(OSError):
            torch.ops.load_library(str(library))
    declared = torch.library.Library("torchvision", "FRAGMENT")
    for name in _ASKED_FOR:
        if not hasattr(torch.ops.torchvision, name):
            declared.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _kept.append(declared)


_kept: list[Any] = []
"""What is declared goes with its library."""


def _images(size: int, name: str, summary: str, **options: Any) -> ZooModel:
    def make() -> Any:
        return getattr(_torchvision().models, name)(weights=None, **options)

    def example(batch: int) -> tuple[Any, ...]:
        import torch

        return (torch.randn(batch, 3, size, size),)

    return ZooModel(summary, make, example)


resnet18 = _images(224, "resnet18", "ResNet-18")
resnet50 = _images(224, "resnet50", "ResNet-50")
mobilenet_v2 = _images(224, "mobilenet_v2", "MobileNet v2")
alexnet = _images(224, "alexnet", "AlexNet")
vgg16 = _images(224, "vgg16", "VGG-16")
squeezenet = _images(224, "squeezenet1_1", "SqueezeNet 1.1")
inception_v3 = _images(299, "inception_v3", "Inception v3", init_weights=False)
efficientnet_b0 = _images(224, "efficientnet_b0", "EfficientNet-B0")
vit_b_16 = _images(224, "vit_b_16", "Vision Transformer, base, patches of 16x16")
