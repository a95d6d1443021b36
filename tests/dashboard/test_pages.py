"""What the pages send to the browser: bounded, however much a store holds."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.dashboard.large_store import write_large_store
from tests.dashboard.samples import TASK, write_store
from tunesmith.dashboard.charts import MOST_AXES
from tunesmith.dashboard.curves import MOST_POINTS, Curves
from tunesmith.dashboard.watch import Watch
from tunesmith.reports.figures import Figure
from tunesmith.store import open_overview

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def _points(figure: Figure | None) -> int:
    assert figure is not None
    return sum(len(trace.y if trace.y is not None else ()) for trace in figure.plot.figure.data)


def _sent(content: Any) -> int:
    """The bytes of what goes to the browser."""
    from plotly.utils import PlotlyJSONEncoder

    return len(json.dumps(content, cls=PlotlyJSONEncoder))


def _page_sizes(path: Path) -> dict[str, int]:
    """The bytes of each part of the pages about a store, and the points of its figures."""
    from tunesmith.dashboard.pages import machines, overview, task, task_tables

    with open_overview(path) as store:
        watch = Watch(store)
        known = watch.snapshot()
        largest = max(known.tasks, key=lambda it: it.trials)
        run = max(known.runs, key=lambda it: it.trials)
        share = max(largest.sketches, key=lambda it: it.trials)
        figures = task.run_figures(Curves(store), [run])
        configs = task.config_figures(watch, str(share.series.id), share.trials, largest)
        return {
            "overview": _sent(overview.content(watch, "", NOW)),
            "machines": _sent(machines.content(watch)),
            "tables": _sent(task_tables.content(watch, largest, NOW)),
            "layout": _sent(task.layout(watch, {"key": largest.key})),
            "trials": _points(figures[0]),
            "seconds": _points(figures[1]),
            "configs": _points(configs[0]),
            "importance": _points(configs[1]),
        }


def test_a_page_has_no_more_rows_for_twenty_times_the_records(tmp_path: Path) -> None:
    sizes = {}
    for records in (2_000, 40_000):
        path = tmp_path / f"{records}.db"
        write_large_store(path, records)
        sizes[records] = _page_sizes(path)
    small, large = sizes[2_000], sizes[40_000]
    for part in ("overview", "machines", "tables", "layout"):
        assert large[part] < 1.2 * small[part]
        assert large[part] < 200_000
    assert large["trials"] <= 2 * (MOST_POINTS + 2)
    assert large["seconds"] < 200
    assert large["configs"] <= 400 * (MOST_AXES + 2)
    assert large["importance"] == small["importance"] == 5


def test_the_figures_of_a_run(tmp_path: Path) -> None:
    from tunesmith.dashboard.pages import task

    path = tmp_path / "records.db"
    write_store(path)
    with open_overview(path) as store:
        watch = Watch(store)
        known = watch.snapshot()
        one = task.run_figures(Curves(store), known.runs[:1])
        both = task.run_figures(Curves(store), known.runs)
        shares = known.tasks[0].sketches
        configs, importance = task.config_figures(
            watch, str(shares[0].series.id), shares[0].trials, known.tasks[0]
        )
        valid = sum(it.seconds is not None for it in store.spread(shares[0].series.id, 1))
    trials, seconds, outcomes, phases = one
    assert trials is not None
    assert seconds is not None
    assert len(trials.plot.figure.data[0].x) == 54  # each valid trial
    speeds = list(trials.plot.figure.data[1].y)
    assert speeds == sorted(speeds)
    assert speeds == list(seconds.plot.figure.data[0].y)
    assert outcomes is not None
    assert list(outcomes.plot.figure.data[0].x) == [54, 6]
    assert phases is not None
    assert "50 % went to building programs" in phases.summary
    assert all(figure is not None for figure in both)
    assert both[0] is not None
    assert next(key.name for key in both[0].plot.legend).endswith("random, seed 0")
    assert len(both[0].plot.figure.data) == 2
    assert configs is not None
    assert configs.summary.startswith(
        f"A line is one of {valid} valid trials"
    )  # each is there once
    assert importance is not None
    assert next(iter(importance.plot.figure.data[0].y)) == "tile"
    assert importance.plot.figure.data[0].x[0] > 80


def test_of_many_runs_the_first_are_drawn(tmp_path: Path) -> None:
    from tunesmith.dashboard.pages import task

    path = tmp_path / "records.db"
    write_store(path, trials=10, runs=8)
    with open_overview(path) as store:
        known = Watch(store).snapshot()
        trials, _, outcomes, _ = task.run_figures(Curves(store), known.runs)
    assert trials is not None
    assert outcomes is not None
    assert len(trials.plot.figure.data) == task.MOST_RUNS == 6
    assert trials.summary.startswith("The first 6 of 8 chosen runs. The fastest trial is of ")
    assert sum(outcomes.plot.figure.data[0].x) == 80


def test_runs_without_trials_have_no_figures(tmp_path: Path) -> None:
    from tunesmith.dashboard.pages import task

    path = tmp_path / "records.db"
    write_store(path, trials=0)
    with open_overview(path) as store:
        watch = Watch(store)
        known = watch.snapshot()
        assert task.run_figures(Curves(store), known.runs) == [None] * 4
        assert task.config_figures(watch, None, 0, known.tasks[0]) == [None, None]
        assert _sent(task.layout(watch, {"key": TASK})) > 1000


@pytest.mark.parametrize("key", ["", "no such task", "'; DROP TABLE records; --"])
def test_a_task_that_is_not_there(tmp_path: Path, key: str) -> None:
    from tunesmith.dashboard.pages import task

    path = tmp_path / "records.db"
    write_store(path, trials=1)
    with open_overview(path) as store:
        (title, _) = task.layout(Watch(store), {"key": key})
    assert title.children == "No such task"


def test_the_filter_narrows_down_tasks_and_runs(tmp_path: Path) -> None:
    from tunesmith.dashboard.pages import overview

    path = tmp_path / "records.db"
    write_large_store(path, 200)
    with open_overview(path) as store:
        watch = Watch(store)
        _, all_tasks, all_runs = overview.content(watch, "", NOW)
        _, tasks, runs = overview.content(watch, "task 13", NOW)
        _, none, _ = overview.content(watch, "no such", NOW)
    assert _rows(all_tasks) == 20
    assert _rows(all_runs) == 40
    assert _rows(tasks) == 1
    assert _rows(runs) == 10
    assert "no task" in str(none)


def _rows(content: Any) -> int:
    return str(content).count("Tr(") - 1
