"""Known networks with random weights, by name."""

from __future__ import annotations

from tunesmith.networks.zoo.registry import ZOO, ZooModel

__all__ = ["ZOO", "ZooModel"]
