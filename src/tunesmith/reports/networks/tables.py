"""Tables of networks for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from tunesmith.reports import format as fmt
from tunesmith.reports.networks.model import (
    CallPart,
    CallTimes,
    TaskRow,
    share_of_peak,
)
from tunesmith.reports.tables import add_numbers, plain_table

_LABEL = 52


def tasks_table(rows: Sequence[TaskRow]) -> Table:
    """Tasks with their part of a call's time, the dearest first; those without a time last.

    ``of peak`` is the roofline's share, of memory's bandwidth where it says so. Peers have a column
    if any is known.
    """
    total = sum(row.spent for row in rows)
    compared = any(row.peers for row in rows)
    table = _table("task")
    add_numbers(table, "layers", "time", "share", "GFLOP/s", "of peak")
    table.add_column("sketch", no_wrap=True)
    if compared:
        table.add_column("best peer", no_wrap=True)
    for row in sorted(rows, key=lambda row: -row.spent):
        timed = row.seconds is not None
        cells = [
            fmt.count(row.layers),
            fmt.seconds(row.spent) if timed else fmt.NOTHING,
            fmt.share(row.spent, total) if timed else fmt.NOTHING,
            fmt.decimal(row.gflops, 1),
            of_peak(row.share_of_peak, row.limit),
            row.sketch or fmt.NOTHING,
        ]
        if compared:
            cells.append(against(row.best_peer))
        table.add_row(Text(row.brief), *cells)
    return table


def tasks_summary(rows: Sequence[TaskRow]) -> str:
    """How many tasks have a time, and what these take in all."""
    timed = [row for row in rows if row.seconds is not None]
    text = f"{len(timed)} of {len(rows)} tasks have a time"
    if not timed:
        return text
    least = [row.layers * row.least_seconds for row in timed if row.least_seconds is not None]
    total = sum(row.spent for row in timed)
    text = f"{text}: {fmt.seconds(total)} in all"
    if len(least) < len(timed):
        return text
    return f"{text}, {fmt.percent(sum(least) / total, 0)} of the machine's peak"


def uncovered_line(operations: Sequence[str]) -> str:
    """What no operator covers; empty if there is none."""
    if not operations:
        return ""
    names = ", ".join(sorted(set(operations)))
    return f"{fmt.counted(len(operations), 'operation')} that no operator covers: {names}"


def call_table(call: CallTimes) -> Table:
    """What a call of a built network runs, the dearest first: each function with all its calls.

    Operations that no operator covers have the names that TVM gave their functions. The last row
    is what the call takes beyond them.
    """
    table = _table("function")
    add_numbers(table, "calls", "time", "share", "GFLOP/s", "of peak")
    table.add_column("sketch", no_wrap=True)
    by_name: dict[str, list[CallPart]] = {}
    for part in call.parts:
        by_name.setdefault(part.name, []).append(part)
    for parts in sorted(by_name.values(), key=lambda parts: -_seconds(parts)):
        seconds, first = _seconds(parts), parts[0]
        speed = None if first.flops is None else first.flops * len(parts) / seconds / 1e9
        share = share_of_peak(first.least_seconds, seconds / len(parts))
        table.add_row(
            Text(first.brief if first.covered else first.name),
            fmt.count(len(parts)),
            fmt.seconds(seconds),
            fmt.share(seconds, call.seconds),
            fmt.decimal(speed, 1),
            of_peak(share, first.limit),
            first.sketch or fmt.NOTHING,
        )
    nothing = [fmt.NOTHING] * 3
    cells = ("", fmt.seconds(call.runtime), fmt.share(call.runtime, call.seconds), *nothing)
    table.add_row("runtime", *cells)
    return table


def call_summary(call: CallTimes) -> str:
    """What a call takes, and what of it no operator covers."""
    text = f"{fmt.seconds(call.seconds)} a call"
    rest = [part for part in call.parts if not part.covered]
    if not rest:
        return text
    share = fmt.share(_seconds(rest), call.seconds)
    return f"{text}, {share} of it in {fmt.counted(len(rest), 'function')} without an operator"


def tuned_table(result: Any) -> str:
    """What tuning has brought each task of a network (a ``NetworkResult``)."""
    lines = [f"{'task':{_LABEL}} calls    before     after  trials  seconds"]
    for each in sorted(result.tasks, key=lambda each: -each.layers * each.after):
        label = _shortened(each.task.operator.label)
        lines.append(
            f"{label:{_LABEL}} {each.layers:5} {_time(each.before):>9} {_time(each.after):>9} "
            f"{each.trials:7} {each.seconds:8.1f}"
        )
    lines.append(
        f"{_time(result.call_seconds)} a call in all, after {fmt.duration(result.seconds)} "
        f"({result.stopped.meaning})"
    )
    return "\n".join(lines)


def _table(first: str) -> Table:
    """A table whose first column takes what room the others leave."""
    table = plain_table()
    table.collapse_padding = True
    table.add_column(first, overflow="fold", ratio=1)
    return table


def of_peak(share: float | None, limit: str) -> str:
    """The share of the roofline: 62 %, or 80 % mem where memory is the limit."""
    return fmt.percent(share, 0) + (" mem" if limit == "memory" and share is not None else "")


def against(peer: tuple[str, float] | None) -> str:
    """A peer and how many times as fast as it: 1.41× ONNX Runtime."""
    return fmt.NOTHING if peer is None else f"{peer[1]:.2f}× {peer[0]}"


def _seconds(parts: Sequence[CallPart]) -> float:
    return sum(part.seconds for part in parts)


def _shortened(label: str) -> str:
    """A label without what every layer has, cut to the width of the column."""
    label = label.replace(", constant_weights=true", "").replace("=true", "")
    return label if len(label) <= _LABEL else f"{label[: _LABEL - 1]}…"


def _time(seconds: float) -> str:
    return fmt.NOTHING if seconds == float("inf") else fmt.seconds(seconds)
