"""A kernel of ours against every library that can compute its operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tunesmith.bench.peers import SIDE
from tunesmith.bench.peers.instruction_sets import held_to
from tunesmith.bench.peers.library_peers import library_peer
from tunesmith.bench.peers.sides import library_sides
from tunesmith.bench.timing.rotation import ratio_of, rotate
from tunesmith.errors import TunesmithError
from tunesmith.operators import Operator
from tunesmith.target import Target

# Fewer and shorter turns than in the benchmark of operators: a network has many tasks.
_ROUNDS, _TURN_SECONDS = 9, 0.02
_OURS = "tunesmith"


def ratios_to_libraries(
    operator: Operator,
    target: Target,
    ours: Mapping[str, Any],
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, float]:
    """How many times as fast our side is as each library, by the libraries' titles.

    All take turns, each in a process of its own. Libraries that are not installed, or cannot
    compute the operator, are left out; ``say`` hears whose process is waited for. Raises
    ``TunesmithError`` if our own side fails.
    """
    libraries, _ = library_sides(operator, target.core_count, held_to(target))
    sides = {_OURS: ours, **libraries}
    rotation = rotate(SIDE, sides, _ROUNDS, seconds=_TURN_SECONDS, say=say)
    if _OURS in rotation.failed:
        raise TunesmithError(f"our kernel failed: {rotation.failed[_OURS]}")
    own = rotation.turns[_OURS]
    return {
        library_peer(name).title: ratio_of(turns, own).ratio
        for name, turns in rotation.turns.items()
        if name != _OURS
    }
