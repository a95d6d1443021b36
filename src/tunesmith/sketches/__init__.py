"""Ways to schedule an operator: each gives a space and turns a config into a program."""

from tunesmith.sketches.registry import sketch_for, sketches
from tunesmith.sketches.sketch import Sketch

__all__ = ["Sketch", "sketch_for", "sketches"]
