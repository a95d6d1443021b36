"""The progress of a comparison in the terminal: a bar redrawn in place, or a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.console import Console, RenderableType

from tunesmith.reports import format as fmt
from tunesmith.reports.display import Display, bar_above


class Runs(NamedTuple):
    """Runs that are over, with the share of one under way; how many of them ``crashed``; and
    ``words`` on the run that this is about."""

    done: float
    crashed: int
    words: str


class CompareProgress(Display[Runs]):
    """Shows how many of ``total`` runs are done while the context lasts; ``saved`` of them were
    there before. Give a console on stderr, so that stdout stays the caller's.

    The time left is told by the runs since the first began: what it learns from may take longer.
    """

    def __init__(
        self,
        console: Console,
        total: int,
        saved: int,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(console, clock)
        self._total = total
        self._saved = saved
        self._begun = self._first_run = clock()

    def update(self, done: float, crashed: int, words: str) -> None:
        """Take the latest state: see ``Runs``."""
        if done <= self._saved:
            self._first_run = self._clock()
        self.show(Runs(done, crashed, words))

    def drawn(self, state: Runs) -> RenderableType:
        return bar_above(state.done / max(self._total, 1), *self.lines(state))

    def lines(self, state: Runs) -> Sequence[str]:
        done, crashed, words = state
        parts = [f"run {int(done):,} of {self._total:,}"]
        elapsed = self._clock() - self._begun
        new = done - self._saved
        if new > 0 and done < self._total:
            left = (self._total - done) * (self._clock() - self._first_run) / new
            parts.append(f"{fmt.duration(elapsed)}, about {fmt.duration(left)} left")
        else:
            parts.append(fmt.duration(elapsed))
        if self._saved:
            parts.append(f"{self._saved:,} from before")
        if crashed:
            parts.append(f"{crashed:,} crashed")
        return [", ".join([*parts, words] if words else parts)]
