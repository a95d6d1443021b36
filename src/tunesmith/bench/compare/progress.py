"""The progress of a comparison in the terminal: a bar redrawn in place, or a line now and then."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from tunesmith.reports import format as fmt
from tunesmith.reports.live import DRAW_EVERY, LINE_EVERY


class CompareProgress:
    """Shows how many of ``total`` runs are done while the context lasts; ``saved`` of them were
    there before. Give a console on stderr, so that stdout stays the caller's.
    """

    def __init__(
        self,
        console: Console,
        total: int,
        saved: int,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._total = total
        self._saved = saved
        self._clock = clock
        self._begun = clock()
        self._shown_at = -math.inf
        self._shown = ""
        self._state = (float(saved), 0, "")
        # Workers of measured runs are forked while this shows, so that no thread may redraw it.
        self._live = Live(
            console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )

    def __enter__(self) -> Self:
        if self._console.is_interactive:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._show()
        self._live.stop()

    def update(self, done: float, crashed: int, words: str) -> None:
        """Take the latest state: runs that are over, with the share of one under way; how many of
        them crashed; and what run this is about."""
        self._state = (done, crashed, words)
        every = DRAW_EVERY if self._live.is_started else LINE_EVERY
        if self._clock() - self._shown_at >= every:
            self._show()

    def line(self) -> str:
        """The state in words."""
        done, crashed, words = self._state
        parts = [f"run {int(done):,} of {self._total:,}"]
        elapsed = self._clock() - self._begun
        new = done - self._saved
        if new > 0 and done < self._total:
            left = (self._total - done) * elapsed / new
            parts.append(f"{fmt.duration(elapsed)}, about {fmt.duration(left)} left")
        else:
            parts.append(fmt.duration(elapsed))
        if self._saved:
            parts.append(f"{self._saved:,} from before")
        if crashed:
            parts.append(f"{crashed:,} crashed")
        return ", ".join([*parts, words] if words else parts)

    def _show(self) -> None:
        self._shown_at, line = self._clock(), self.line()
        if self._live.is_started:
            table = Table.grid()
            table.add_row(
                ProgressBar(total=max(self._total, 1), completed=self._state[0], width=60)
            )
            table.add_row(line)
            self._live.update(table, refresh=True)
        elif line != self._shown:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)
        self._shown = line
