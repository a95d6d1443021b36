"""The kinds of features that a cost model can learn from (figure 9 of AutoTVM's paper)."""

from __future__ import annotations

from typing import Literal

FeatureKind = Literal["configuration", "loop-context", "context-relation"]
"""``configuration``: the ``Coordinates`` of the config. The others are of its program: the context
of each loop, one after the other; and relations within these, which are comparable among operators,
sketches and targets. See ``tunesmith.features.program``."""
