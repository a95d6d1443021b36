"""Numeric features of configs, for models."""

from tunesmith.features.coordinates import Coordinates

__all__ = ["Coordinates"]
