"""Numbers that describe a config, for models to learn from."""

from tunesmith.features.coordinates import Coordinates

__all__ = ["Coordinates"]
