"""The searches of a run, one a sketch: which has the next trial, and what each begins with."""

from tunesmith.branches.branches import Branches, resume, sketch_of

__all__ = ["Branches", "resume", "sketch_of"]
