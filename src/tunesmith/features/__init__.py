"""Numbers that describe a config, for models to learn from."""

from tunesmith.features.coordinates import Coordinates, roundness

__all__ = ["Coordinates", "roundness"]
