"""Several ways to compute the same with one library, of which only the fastest is to count."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Call = Callable[[], Any]

_ROUNDS = 3


class Fastest:
    """Calls of the same operator by the names of their ways.

    A call of the whole makes each of them once, so that it has laid out and compiled what it needs,
    drops those that fail, and returns what the first one left returns. ``chosen`` says which one is
    the fastest; it is to be asked when nothing else runs.
    """

    def __init__(self, ways: Mapping[str, Call]) -> None:
        self.ways = dict(ways)

    def __call__(self) -> Any:
        """Raises what the last way raised if every one of them fails."""
        results = []
        for name, call in list(self.ways.items()):
            try:
                results.append(call())
            except Exception:
                if len(self.ways) == 1:
                    raise
                del self.ways[name]
        return results[0]

    def chosen(self, seconds_of: Callable[[Call], float]) -> tuple[str, Call]:
        """The way whose best of a few rounds, taken in turn, is the shortest; ``seconds_of`` times
        a call."""
        best = dict.fromkeys(self.ways, math.inf)
        if len(best) > 1:
            for _ in range(_ROUNDS):
                for name, call in self.ways.items():
                    best[name] = min(best[name], seconds_of(call))
        name = min(best, key=best.__getitem__)
        return name, self.ways[name]
