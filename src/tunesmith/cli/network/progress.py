"""The progress of tuning a network, task by task."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tunesmith.reports import format as fmt
from tunesmith.reports.live import DRAW_EVERY, LINE_EVERY

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from tunesmith.networks import NetworkProgress


class NetworkLines:
    """Within its context, shows how far a run is: a bar in a terminal, elsewhere a line for each
    task and one from time to time."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown_at = 0.0
        self._live = Live(
            console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )

    def __enter__(self) -> Self:
        if self._console.is_interactive:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def update(self, state: NetworkProgress) -> None:
        """Set the latest state."""
        now, live = time.monotonic(), self._console.is_interactive
        if state.run is not None and now - self._shown_at < (DRAW_EVERY if live else LINE_EVERY):
            return
        self._shown_at = now
        if live:
            self._live.update(_bar(state), refresh=True)
        else:
            self._console.print(_line(state), soft_wrap=True, markup=False)


def _line(state: NetworkProgress) -> str:
    trials = "" if state.run is None else f", trial {state.run.trials}"
    timed = f"{state.timed} of {state.tasks} tasks have a time"
    call = f", {fmt.seconds(state.call_seconds)} a call" if state.timed == state.tasks else ""
    left = fmt.duration(max(0.0, state.seconds - state.elapsed))
    return f"{state.task.operator.label}{trials}; {timed}{call}; about {left} left"


def _bar(state: NetworkProgress) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    table.add_row(
        ProgressBar(total=state.seconds, completed=min(state.elapsed, state.seconds), width=40),
        Text(_line(state), overflow="ellipsis", no_wrap=True),
    )
    return table
