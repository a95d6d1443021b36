"""The progress of evolution in the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rich.console import Console, RenderableType

from tunesmith.reports import format as fmt
from tunesmith.reports.display import Display, bar_above
from tunesmith.reports.evolve.model import Step

# Points of the front in a line.
_SHOWN = 4


class EvolveProgress(Display[Step]):
    """Shows generations; the budget is in seconds and evaluations, None where there is no limit."""

    def __init__(
        self,
        console: Console,
        seconds: float | None,
        evaluations: int | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(console, clock)
        self._seconds = seconds
        self._evaluations = evaluations

    def drawn(self, state: Step) -> RenderableType:
        return bar_above(self._share(state), *self.lines(state))

    def lines(self, state: Step) -> Sequence[str]:
        limit = "" if self._seconds is None else f" of {fmt.duration(self._seconds)}"
        first = (
            f"generation {state.number}, {fmt.counted(state.evaluations, 'evaluation')} "
            f"({fmt.percent(state.valid, 0)} valid), {fmt.duration(state.seconds)}{limit}"
        )
        lines = [first, f"  front: {front_line(state.front)}"]
        return [*lines, f"  {state.doing}"] if state.doing else lines

    def _share(self, state: Step) -> float:
        shares = [0.0]
        if self._seconds:
            shares.append(state.seconds / self._seconds)
        if self._evaluations:
            shares.append(state.evaluations / self._evaluations)
        return max(shares)


def front_line(front: Sequence[tuple[float, float]]) -> str:
    """A front in a line: speed-ups, each with its error."""
    if not front:
        return "nothing faster yet"
    shown = [f"{fmt.number(speedup)}× (error {error:.2g})" for speedup, error in front[:_SHOWN]]
    more = len(front) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
