"""Tables for the terminal, at most 100 columns wide, with units."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from rich import box
from rich.table import Table
from rich.text import Text

from tunesmith.measurement import Outcome
from tunesmith.reports import format as fmt

WIDTH: Final = 100


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A program and the seconds of one call, None if unknown; ``best`` highlights it."""

    name: str
    seconds: float | None
    best: bool = False


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """A finished or running tuning run of a task.

    Times are seconds of one call, None without a valid trial. ``sketch`` is that of the best, empty
    if there is none.
    """

    started: datetime
    tuner: str
    trials: int
    best_seconds: float | None
    default_seconds: float | None = None
    flops: float | None = None
    sketch: str = ""
    machine: str = ""


def results_table(
    rows: Sequence[ResultRow], flops: float | None, baseline: ResultRow | None = None
) -> Table:
    """Programs of one task: time per call, speed, and gain over the ``baseline``."""
    unit = fmt.SpeedUnit.suiting(flops, [row.seconds for row in rows])
    table = plain_table()
    table.add_column("program", overflow="fold")
    add_numbers(table, "time a call", unit.name)
    if baseline is not None:
        add_numbers(table, f"against the {baseline.name}")
    for row in rows:
        cells = [fmt.seconds(row.seconds), unit.amount(row.seconds)]
        if baseline is not None:
            cells.append(fmt.gain(baseline.seconds, row.seconds))
        table.add_row(Text(row.name), *cells, style="bold green" if row.best else None)
    return table


def history_table(rows: Sequence[HistoryRow], *, with_machines: bool = False) -> Table:
    """Runs of one task, if asked for with their machines; their start is shown in its own time
    zone."""
    table = plain_table()
    table.add_column("started", no_wrap=True)
    table.add_column("tuner", overflow="fold")
    table.add_column("sketch", overflow="fold")
    if with_machines:
        table.add_column("machine", overflow="fold")
    add_numbers(table, "trials", "best", "speed", "gain")
    for row in rows:
        table.add_row(
            row.started.strftime("%Y-%m-%d %H:%M"),
            Text(row.tuner),
            Text(row.sketch or fmt.NOTHING),
            *([Text(row.machine)] if with_machines else []),
            fmt.count(row.trials),
            fmt.seconds(row.best_seconds),
            fmt.speed(row.best_seconds, row.flops),
            fmt.gain(row.default_seconds, row.best_seconds),
        )
    return table


def sketches_table(
    sketches: Sequence[tuple[str, int, float | None]], best: str, flops: float | None
) -> Table:
    """Sketches with their trials and best seconds, fastest first; ``best`` is highlighted."""
    unit = fmt.SpeedUnit.suiting(flops, [seconds for _, _, seconds in sketches])
    table = plain_table()
    table.add_column("sketch", overflow="fold")
    add_numbers(table, "trials", "best trial", unit.name)
    for name, trials, seconds in sorted(sketches, key=lambda row: row[2] or math.inf):
        cells = fmt.count(trials), fmt.seconds(seconds), unit.amount(seconds)
        table.add_row(Text(name), *cells, style="bold green" if name == best else None)
    return table


def outcomes_table(
    outcomes: Mapping[Outcome, int], meanings: Mapping[Outcome, str] | None = None
) -> Table:
    """The number of trials with each outcome that occurred, in the order of the outcomes.

    ``meanings`` replaces ``Outcome.meaning``.
    """
    texts = {outcome: outcome.meaning for outcome in Outcome} | dict(meanings or {})
    total = sum(outcomes.values())
    table = plain_table()
    table.add_column("outcome", no_wrap=True)
    add_numbers(table, "trials", "share")
    table.add_column("meaning", overflow="fold")
    for outcome in Outcome:
        number = outcomes.get(outcome, 0)
        if number:
            name = fmt.outcome_name(outcome)
            table.add_row(name, fmt.count(number), fmt.share(number, total), texts[outcome])
    return table


def resources_table(resources: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    """The GPU resources that each sketch's programs use: medians, and the best occupancy."""
    table = plain_table()
    table.add_column("sketch", no_wrap=True)
    add_numbers(table, "programs", "registers\na thread", "spilling", "threads\na block")
    add_numbers(table, "shared\na block", "occupancy", "at\nbest")
    for sketch, programs in resources.items():
        columns = {
            name: [float(one[name]) for one in programs if one[name] is not None]
            for name in ("registers", "spilled_bytes", "threads", "shared_bytes", "occupancy")
        }
        occupancy = columns["occupancy"]
        table.add_row(
            sketch,
            fmt.count(len(programs)),
            f"{statistics.median_low(columns['registers']):.0f}",
            fmt.share(sum(size > 0 for size in columns["spilled_bytes"]), len(programs)),
            f"{statistics.median_low(columns['threads']):.0f}",
            f"{statistics.median(columns['shared_bytes']) / 1024:.1f} KiB",
            fmt.percent(statistics.median(occupancy) if occupancy else None, 0),
            fmt.percent(max(occupancy, default=None), 0),
        )
    return table


def plain_table() -> Table:
    """An empty table in our style."""
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")


def add_numbers(table: Table, *names: str) -> None:
    """Columns of numbers. In ``Text``, square brackets are not Rich's markup."""
    for name in names:
        table.add_column(Text(name), justify="right", no_wrap=True)
