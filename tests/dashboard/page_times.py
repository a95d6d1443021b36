"""Prints how long the server takes for each part of a page of a large store.

``python -m tests.dashboard.page_times STORE``; ``large_store`` makes one.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from plotly.utils import PlotlyJSONEncoder

from tunesmith.dashboard.charts import painted
from tunesmith.dashboard.curves import Curves
from tunesmith.dashboard.pages import machines, overview, task, task_tables
from tunesmith.dashboard.watch import Watch
from tunesmith.store import open_overview

T = TypeVar("T")


def timed(name: str, work: Callable[[], T]) -> T:
    """Do the work, and print its seconds on the wall clock and of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    done = work()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{name:32} {wall:8.3f} s {processor:8.3f} s of the processor")
    return done


def as_sent(content: Any) -> str:
    return json.dumps(content, cls=PlotlyJSONEncoder)


def main(path: Path) -> None:
    now = datetime.now(UTC)
    with open_overview(path) as store:
        watch, curves = Watch(store), Curves(store)
        known = timed("start: all records counted", watch.snapshot)
        timed("pulse without news", watch.snapshot)
        largest = max(known.tasks, key=lambda it: it.trials)
        run = max(known.runs, key=lambda it: it.trials)
        share = max(largest.sketches, key=lambda it: it.trials)
        print(f"{known.trials:,} trials; the largest run has {run.trials:,}")

        def drawn() -> str:
            figures = task.run_figures(curves, [run])
            return as_sent([painted(it.plot, True) for it in figures if it is not None])

        def configs() -> str:
            figures = task.config_figures(watch, str(share.series.id), share.trials, largest)
            return as_sent([painted(it.plot, True) for it in figures if it is not None])

        def tables() -> str:
            return as_sent(task_tables.content(watch, largest, now))

        for again in ("", ", again"):
            timed(f"first page{again}", lambda: as_sent(overview.content(watch, "", now)))
            timed(f"machines{again}", lambda: as_sent(machines.content(watch)))
            timed(f"task: layout{again}", lambda: as_sent(task.layout(watch, {"key": largest.key})))
            timed(f"task: tables{again}", tables)
            timed(f"task: figures of the run{again}", drawn)
            timed(f"task: configs{again}", configs)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
