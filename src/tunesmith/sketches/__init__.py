"""Ways to schedule an operator: each gives a space and turns a config into a program."""

from tunesmith.sketches.registry import describe_sketches, sketch_for, sketches, sketches_for
from tunesmith.sketches.sketch import Sketch

__all__ = ["Sketch", "describe_sketches", "sketch_for", "sketches", "sketches_for"]
