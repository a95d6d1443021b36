"""The progress of builds in the terminal: a bar, or a line from time to time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tunesmith.reports import format as fmt
from tunesmith.reports.live import DRAW_EVERY, LINE_EVERY


class BuildProgress:
    """Within its context, shows how many of ``total`` items are done.

    ``doing`` and ``done`` are the verbs to show. The console should be on stderr, to leave stdout
    to the caller.
    """

    def __init__(
        self,
        console: Console,
        total: int,
        *,
        doing: str = "building",
        done: str = "built",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._total = total
        self._done = done
        self._clock = clock
        self._begun = clock()
        self._shown_at = -math.inf
        # Workers are forked while this is shown, so no thread may redraw it.
        self._bar = Progress(
            TextColumn(doing),
            BarColumn(60),
            MofNCompleteColumn(),
            TimeRemainingColumn(compact=True),
            console=console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task(doing, total=total)

    def __enter__(self) -> Self:
        if self._console.is_interactive:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_interactive:
            self._bar.stop()

    def update(self, done: int) -> None:
        """Set the number of items done; cheap enough to call after each."""
        every = DRAW_EVERY if self._console.is_interactive else LINE_EVERY
        now = self._clock()
        if done < self._total and now - self._shown_at < every:
            return
        self._shown_at = now
        if self._console.is_interactive:
            self._bar.update(self._task, completed=done, refresh=True)
        else:
            elapsed = now - self._begun
            left = fmt.duration(elapsed / done * (self._total - done))
            reached = f"{self._done} {done:,} of {self._total:,}"
            text = f"{reached}, {fmt.duration(elapsed)}, about {left} left"
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)
