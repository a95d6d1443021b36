"""Which layers of a network have a program on a target."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from tunesmith.errors import UsageError
from tunesmith.networks.layers.cover import CoveredGraph, Step
from tunesmith.networks.layers.layer import Layer
from tunesmith.operators import Operator
from tunesmith.sketches import sketch_for
from tunesmith.target import Target


def with_sketches(covered: CoveredGraph, target: Target) -> CoveredGraph:
    """The graph with those layers that no sketch schedules on a target taken apart into nodes.

    Of several nodes of a layer only the last one is read elsewhere, so all of them may be where it
    was.
    """

    @cache
    def is_scheduled(operator: Operator) -> bool:
        try:
            sketch_for(operator, target)
        except UsageError:
            return False
        return True

    steps: list[Step] = []
    for step in covered.steps:
        if isinstance(step, Layer) and not is_scheduled(step.operator):
            steps += step.covers
        else:
            steps.append(step)
    return replace(covered, steps=tuple(steps))
