"""The latest state of a run in the terminal: redrawn in place, or lines from time to time."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Final, Generic, Self, TypeVar

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

LINE_EVERY: Final = 5.0
"""Seconds between two updates if the output is not a terminal: a file, a pipe, a CI log."""

DRAW_EVERY: Final = 0.2
"""Seconds between two updates in a terminal."""

State = TypeVar("State")


class Display(ABC, Generic[State]):
    """Within its context, shows states; the last one stays on the screen.

    The console should be on stderr, to leave stdout to the caller.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._state: State | None = None
        self._shown: State | None = None
        self._shown_at = -math.inf
        # Workers are forked while this is shown: a thread that redraws could leave them a locked
        # console, and with redirected streams they would draw, too.
        self._live = Live(
            console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )

    def __enter__(self) -> Self:
        if self._console.is_interactive:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._state is not None and self._state is not self._shown:
            self._show(self._state)
        self._live.stop()

    @abstractmethod
    def drawn(self, state: State) -> RenderableType:
        """A state as it is drawn in a terminal."""

    @abstractmethod
    def lines(self, state: State) -> Sequence[str]:
        """A state as plain lines."""

    def show(self, state: State, *, at_once: bool = False) -> None:
        """Take the latest state, and show it if the last one was long enough ago or ``at_once``;
        cheap enough to call after every trial."""
        self._state = state
        every = DRAW_EVERY if self._live.is_started else LINE_EVERY
        if at_once or self._clock() - self._shown_at >= every:
            self._show(state)

    def print(self, line: str) -> None:
        """Print a line that stays, above what is redrawn."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _show(self, state: State) -> None:
        if self._live.is_started:
            self._live.update(self.drawn(state), refresh=True)
        else:
            for line in self.lines(state):
                self.print(line)
        self._shown, self._shown_at = state, self._clock()


def bar_above(share: float, *lines: str) -> RenderableType:
    """A bar, filled to a share from 0 to 1, and lines below it."""
    table = Table.grid()
    table.add_row(ProgressBar(total=1.0, completed=min(max(share, 0.0), 1.0), width=60))
    for line in lines:
        table.add_row(Text(line, overflow="ellipsis", no_wrap=True))
    return table
