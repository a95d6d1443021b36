"""The measurement of the store's speed, on a small store: what it reports, not how fast."""

from __future__ import annotations

from pathlib import Path

from tunesmith.bench.loop.store_speed import measure_store


def test_figures_are_reported_and_nothing_is_left(tmp_path: Path) -> None:
    figures = measure_store(tmp_path, records=2500)
    assert set(figures) == {
        "records",
        "records_per_second",
        "commits_per_second",
        "best_milliseconds",
        "best_milliseconds_worst",
        "megabytes",
    }
    assert figures["records"] == 2500
    assert all(figure > 0 for figure in figures.values())
    assert figures["best_milliseconds"] <= figures["best_milliseconds_worst"]
    assert list(tmp_path.iterdir()) == []
