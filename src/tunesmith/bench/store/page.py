"""The figures of ``tunesmith bench store`` as a page for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunesmith.bench.pages.templates import markdown, table
from tunesmith.reports import format as fmt

_NAMES = {
    "records": "records",
    "writers": "processes that write",
    "batch": "records of a transaction",
    "lost": "records lost",
    "twice": "records stored twice",
    "deadlocks": "deadlocks",
    "records_per_second": "records a second",
    "seconds": "seconds in all",
    "restart_seconds": "of these, the server's restart",
    "look_ups": "look-ups of the best meanwhile",
    "best_milliseconds": "their median, ms",
    "best_milliseconds_99": "99 % within, ms",
    "best_milliseconds_worst": "the longest, ms",
    "best_milliseconds_alone": "the median once the writers have ended, ms",
}
# Of a machine's cores, taken by others before the measurement: more than that is not idle.
_BUSY = 0.25


def store_page(figures: Mapping[str, Any]) -> str:
    """Markdown. ``figures`` have the ``rows`` of ``measure_load``, and where they come from."""
    rows = figures["rows"]
    body = [[name, *(_cell(row[key]) for row in rows)] for key, name in _NAMES.items()]
    return markdown(
        "store/page.md.jinja",
        figures=figures,
        busy=figures["load_before"] > _BUSY * figures["machine"]["cores"],
        rows=table(["", *(row["store"] for row in rows)], body),
        stalled=rows[0]["stalled_seconds"],
    )


def _cell(value: float | None) -> str:
    if value is None:
        return fmt.NOTHING
    return fmt.count(value) if isinstance(value, int) else fmt.decimal(value, 1)
