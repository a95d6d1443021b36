"""The goals for searches, beside the figures that the parts have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tunesmith.bench.autotvm.lines import FROM_NOTHING
from tunesmith.reports.format import percent

_TREES = ("model", "model-template", "model-replay")
_TRANSFER = ("transfer-measured", "transfer-template", "transfer")

# Of the trials to 95 % of the best of other lines, those of boosted trees.
_TIMES_WANTED = {"random": 0.5, "GA": 0.7}
_CATCHES_UP_WANTED = 1 / 3
_THINKING_WANTED = 0.1

Row = tuple[str, str, str, str]


def wanted_rows(parts: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The cells of a table, of the parts that have been run: the part, what it is, the goal,
    ours, and whether that is reached."""
    return [
        (f"`{name}`", *row)
        for name in (*_TREES, *_TRANSFER)
        if name in parts
        for row in _rows(name, parts[name])
    ]


def _rows(name: str, figures: Mapping[str, Any]) -> Iterator[Row]:
    lines = {row["line"]: row for row in figures["lines"]}
    own = lines.get("GBT" if name in _TREES else "transfer")
    if own is None:
        return
    if name in _TREES:
        for rival, wanted in _TIMES_WANTED.items():
            if rival in lines:
                limit = figures["settings"]["trials"]
                yield f"GBT's median trials ÷ {rival}'s", *_times(own, lines[rival], wanted, limit)
    elif FROM_NOTHING in own.get("catches_up_of_all", {}):
        ends = own["catches_up_of_all"][FROM_NOTHING]
        yield "trials to the end of **from nothing**", *_share(ends, _CATCHES_UP_WANTED)
    yield "thinking", *_share(own["thinking"], _THINKING_WANTED)


def _times(
    own: Mapping[str, Any], rival: Mapping[str, Any], wanted: float, limit: int
) -> tuple[str, str, str]:
    """The median of one line as a multiple of that of another, which takes more than ``limit``
    trials where it is never there."""
    trials, others = own["trials_to_95"], rival["trials_to_95"]
    if trials is None:
        return f"{wanted:g}", "never", "too short" if others is None else "no"
    times = trials / (limit + 1 if others is None else others)
    if times <= wanted:
        return f"{wanted:g}", f"{times:.2f}", "yes"
    if others is None:
        return f"{wanted:g}", f"less than {times:.2f}", "too short"
    return f"{wanted:g}", f"{times:.2f}", "no"


def _share(ours: float | None, wanted: float) -> tuple[str, str, str]:
    reached = ours is not None and ours <= wanted
    share = "never" if ours is None else percent(ours, 1)
    return percent(wanted, 0), share, "yes" if reached else "no"
