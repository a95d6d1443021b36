"""The progress of tuning and of building a network, task by task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tunesmith.reports import format as fmt
from tunesmith.reports.display import Display, bar_above

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tunesmith.networks import NetworkProgress
    from tunesmith.networks.build.programs import BuildState


class NetworkLines(Display["NetworkProgress"]):
    """How far tuning is: a bar in a terminal, elsewhere a line for each task and one from time to
    time."""

    def update(self, state: NetworkProgress) -> None:
        """Set the latest state."""
        self.show(state, at_once=state.run is None)

    def drawn(self, state: NetworkProgress) -> RenderableType:
        return bar_above(state.elapsed / state.seconds, *self.lines(state))

    def lines(self, state: NetworkProgress) -> Sequence[str]:
        trials = "" if state.run is None else f", trial {state.run.trials}"
        timed = f"{state.timed} of {state.tasks} tasks have a time"
        call = f", {fmt.seconds(state.call_seconds)} a call" if state.timed == state.tasks else ""
        left = fmt.duration(max(0.0, state.seconds - state.elapsed))
        return [f"{state.task.operator.label}{trials}; {timed}{call}; about {left} left"]


class BuildLines(Display["BuildState"]):
    """How far a build is: a bar in a terminal, elsewhere a line from time to time."""

    def update(self, state: BuildState) -> None:
        """Set the latest state."""
        self.show(state)

    def drawn(self, state: BuildState) -> RenderableType:
        return bar_above(state.done / state.total, *self.lines(state))

    def lines(self, state: BuildState) -> Sequence[str]:
        if not state.label:
            return [state.doing]
        return [f"{state.doing}: {state.done} of {state.total} tasks, last {state.label}"]
