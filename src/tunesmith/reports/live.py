"""The progress of a run in the terminal: a panel, or two lines from time to time."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tunesmith.measurement import Outcome
from tunesmith.progress import PHASES, Progress
from tunesmith.reports import format as fmt
from tunesmith.reports.display import Display
from tunesmith.reports.tables import WIDTH

_PHASE_STYLES = {
    "search": "magenta",
    "build": "yellow",
    "run": "green",
    "record": "cyan",
    "idle": "bright_black",
}


class LiveProgress(Display[Progress]):
    """Within its context, shows the progress of a run; its last state stays on the screen.

    ``trials`` and ``seconds`` are the run's budget, ``flops`` the operations of one call; each may
    be None. The console should be on stderr, to leave stdout to the caller.
    """

    def __init__(
        self,
        console: Console,
        trials: int | None,
        seconds: float | None,
        flops: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(console, clock)
        self._limits = Limits(trials, seconds)
        self._flops = flops

    def update(self, state: Progress) -> None:
        """Set the latest state; cheap enough to call after every trial."""
        if self._limits.first is None:
            self._limits = dataclasses.replace(self._limits, first=state)
        self.show(state)

    def drawn(self, state: Progress) -> RenderableType:
        return progress_panel(state, self._limits, self._flops)

    def lines(self, state: Progress) -> Sequence[str]:
        return progress_lines(state, self._limits, self._flops)


@dataclass(frozen=True, slots=True)
class Limits:
    """The trials and wall-clock seconds that a run may spend; None is no limit.

    ``first`` is the earliest known state, from which the pace is computed: the trials that a
    resumed run starts with took no time of it.
    """

    trials: int | None
    seconds: float | None
    first: Progress | None = None

    def spent(self, state: Progress) -> float:
        """The spent share of the budget, from 0 to 1, by the limit that is nearer."""
        shares = [0.0]
        if self.trials:
            shares.append(state.trials / self.trials)
        if self.seconds:
            shares.append(state.elapsed / self.seconds)
        return min(max(shares), 1.0)

    def left(self, state: Progress) -> float | None:
        """The remaining seconds at the pace so far; None if that is not known yet."""
        bounds = []
        trials, elapsed = state.trials, state.elapsed
        if self.first is not None:
            trials, elapsed = trials - self.first.trials, elapsed - self.first.elapsed
        if self.trials is not None and trials > 0:
            bounds.append(max(self.trials - state.trials, 0) * elapsed / trials)
        if self.seconds is not None:
            bounds.append(max(self.seconds - state.elapsed, 0.0))
        return min(bounds, default=None)


def progress_lines(state: Progress, limits: Limits, flops: float | None) -> tuple[str, str]:
    """The state as two plain lines of at most 100 columns; the second one is indented.

    The first shows the progress and the best result, the second the time by phase and the failures.
    """
    reached = [
        f"trial {_of_budget(state, limits)}",
        f"best {_best(state, flops)}",
        f"invalid {fmt.share(state.trials - state.valid, state.trials)}",
        _clock_text(state, limits),
    ]
    spent = f"  time: {', '.join(_shares(state.time))}"
    classes = _invalid_classes(state)
    return _cut(", ".join(reached)), _cut(f"{spent}; invalid: {classes}" if classes else spent)


def progress_panel(state: Progress, limits: Limits, flops: float | None) -> RenderableType:
    """The state as lines of at most 100 columns, with a bar if the run has a limit."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold", max_width=WIDTH - 10)
    if limits.trials is not None or limits.seconds is not None:
        table.add_row("", ProgressBar(total=1.0, completed=limits.spent(state), width=60))
    table.add_row("trials", f"{_of_budget(state, limits)}, {_clock_text(state, limits)}")
    table.add_row("best", _best_text(state, flops))
    if len(state.sketches) > 1:
        table.add_row("sketches", _sketches_text(state))
    table.add_row("invalid", _invalid_text(state))
    table.add_row("time", _time_text(state.time))
    return table


def _of_budget(state: Progress, limits: Limits) -> str:
    done = fmt.count(state.trials)
    return done if limits.trials is None else f"{done} of {fmt.count(limits.trials)}"


def _clock_text(state: Progress, limits: Limits) -> str:
    text = fmt.duration(state.elapsed)
    left = limits.left(state)
    return text if left is None else f"{text}, about {fmt.duration(left)} left"


def _best(state: Progress, flops: float | None) -> str:
    if state.best_seconds is None:
        return "none yet"
    text = fmt.speed(state.best_seconds, flops)
    if len(state.sketches) > 1:
        text += f" by {state.best_sketch}"
    if state.default_seconds is not None:
        text += f" ({fmt.gain(state.default_seconds, state.best_seconds)} default)"
    return text


def _best_text(state: Progress, flops: float | None) -> Text:
    if state.best_seconds is None:
        return Text("no valid program yet")
    text = Text(fmt.speed(state.best_seconds, flops), style="bold")
    text.append(f"  {fmt.seconds(state.best_seconds)} a call", style="not bold")
    if state.default_seconds is not None:
        compared = fmt.faster_than(
            state.default_seconds, state.best_seconds, "the default schedule"
        )
        text.append(f"  {compared}", style="not bold green")
    return text


def _sketches_text(state: Progress) -> Text:
    """The trials of each sketch, in descending order; the best one's sketch is bold."""
    text = Text("  ").join(
        Text(f"{name} {fmt.count(trials)}", style="bold" if name == state.best_sketch else "")
        for name, trials in sorted(state.sketches.items(), key=lambda pair: -pair[1])
    )
    text.truncate(WIDTH - 10, overflow="ellipsis")
    return text


def _invalid_text(state: Progress) -> str:
    classes = _invalid_classes(state)
    if not classes:
        return "none"
    return f"{fmt.share(state.trials - state.valid, state.trials)}: {classes}"


def _invalid_classes(state: Progress) -> str:
    """The number of trials with each failure, the most frequent first; empty without failures."""
    invalid = [
        (outcome, state.outcomes[outcome])
        for outcome in Outcome
        if outcome is not Outcome.NO_ERROR and state.outcomes.get(outcome)
    ]
    invalid.sort(key=lambda pair: -pair[1])
    return ", ".join(f"{fmt.outcome_name(outcome)} {fmt.count(n)}" for outcome, n in invalid)


def _time_text(spent: Mapping[str, float]) -> Text:
    shares = zip(PHASES, _shares(spent), strict=True)
    return Text("  ").join(Text(share, style=_PHASE_STYLES[phase]) for phase, share in shares)


def _shares(spent: Mapping[str, float]) -> list[str]:
    total = sum(spent.values())
    return [f"{phase} {fmt.share(spent.get(phase, 0.0), total)}" for phase in PHASES]


def _cut(line: str) -> str:
    """As many of the comma-separated parts as fit 100 columns."""
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 3].rpartition(', ')[0]}, …"
