"""Features of programs, from their loops: the same for every sketch, operator and target."""

from tunesmith.features.program.context import LoopContext, loop_context
from tunesmith.features.program.vectors import PROGRAM_FEATURES, program_features

__all__ = ["PROGRAM_FEATURES", "LoopContext", "loop_context", "program_features"]
