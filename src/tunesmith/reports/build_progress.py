"""The progress of builds in the terminal: a bar, or a line from time to time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rich.console import Console, RenderableType

from tunesmith.reports import format as fmt
from tunesmith.reports.display import Display, bar_above


class BuildProgress(Display[int]):
    """Within its context, shows how many of ``total`` items are ``done``, which is the verb to
    show. The console should be on stderr, to leave stdout to the caller.
    """

    def __init__(
        self,
        console: Console,
        total: int,
        *,
        done: str = "built",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(console, clock)
        self._total = total
        self._done = done
        self._begun = clock()

    def update(self, done: int) -> None:
        """Set the number of items done; cheap enough to call after each."""
        self.show(done)

    def drawn(self, state: int) -> RenderableType:
        return bar_above(state / max(self._total, 1), *self.lines(state))

    def lines(self, state: int) -> Sequence[str]:
        elapsed = self._clock() - self._begun
        reached = f"{self._done} {state:,} of {self._total:,}, {fmt.duration(elapsed)}"
        if not state:
            return [reached]
        left = elapsed / state * (self._total - state)
        return [f"{reached}, about {fmt.duration(left)} left"]
