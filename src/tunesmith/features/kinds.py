"""The kinds of features that a cost model can learn from (figure 9 of AutoTVM's paper)."""

from __future__ import annotations

from typing import Literal

FeatureKind = Literal["configuration", "loop-context", "context-relation"]
"""``configuration``: the ``Coordinates`` of the config. The others are of its program: the context
of each loop, one after the other; and relations within these, which are comparable among operators,
sketches and targets. See ``tunesmith.features.program``."""

LOOPS = 16
"""Of how many loops a loop context tells; there are zeros for those that do not exist."""


def loops_in(kind: FeatureKind) -> int:
    """How many loops, outermost first, features of a kind tell of one after the other; 1 if they
    are not of single loops."""
    return LOOPS if kind == "loop-context" else 1
