"""The page of ``tunesmith bench scale``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.bench.figures import MACHINE
from tunesmith.bench.pages.charts import can_draw
from tunesmith.bench.scale.page import scale_figures, write_scale

ORIGIN = {"machine": MACHINE, "versions": {"tunesmith": "0.1.0"}, "date": "2026-01-02"}
SETTINGS = {
    **{"devices": [10, 1000], "seconds": 20.0, "trials": 500, "seed": 0, "store": False},
    **{"batches": [1, 1000], "batch_trials": 2000, "repeats": 3},
    "recorded": "gemm/zen5.json.gz",
}


def row(tuner: str, devices: int, busy: float, best: float) -> dict[str, Any]:
    return {
        **{"tuner": tuner, "devices": devices, "busy": busy, "host_share": 0.5},
        **{"host_ms_per_trial": 0.625, "proposals_per_second": 950.4, "records_per_second": 900.0},
        **{"trials": 18000, "lost": 33, "seconds": 20.0, "stopped": "exhausted"},
        **{"best_seconds": best, "improvements": [(1.25, 2 * best, 3), (7.5, best, 9)]},
    }


ROWS = [row("auto", 10, 0.999, 1e-4), row("auto", 1000, 0.953, 1.02e-4), row("grid", 1000, 1, 9.0)]
GOALS = [
    {"tuner": "auto", "devices": 1, "seconds_to_95": [50.0, 40.0], "trials_to_95": [90, 100]},
    {"tuner": "auto", "devices": 10, "seconds_to_95": [5.0, 4.0], "trials_to_95": [95, 80]},
    {"tuner": "grid", "devices": 1, "seconds_to_95": [5.0, None], "trials_to_95": [95, None]},
]
BATCHES = [
    {
        **{"space": "gemm/zen5", "batch": 1, "tuner": "auto", "best_seconds": [1.0, 1.1]},
        **{"quality": 1.0, "quality_error": 0.02, "score": 0.51, "score_error": 0.03},
    },
    {
        **{"space": "synthetic.mixed.0", "batch": 1000, "tuner": "auto", "best_seconds": [1.0]},
        **{"quality": 0.87, "quality_error": None},
    },
]


def test_the_page(tmp_path: Path) -> None:
    figures = {**scale_figures(ORIGIN, SETTINGS, ROWS, GOALS, BATCHES), "load": 2.25}
    page = write_scale(tmp_path, figures)
    assert (tmp_path / "scale.md").read_text(encoding="utf-8") == page
    stored = json.loads((tmp_path / "scale.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(figures))
    assert (tmp_path / "scale-busy.svg").exists() == can_draw()
    assert "- machine: Some CPU, 2 cores, 8 GiB" in page
    assert "mean of 15 minutes: 2.2. It was busy with other work" in page
    assert "| auto | 10 | 99.9 % | 50.0 % | 0.62 | 950 | 900 |" in page
    assert "| grid | 1,000 | 100.0 % | 50.0 % | 0.62 | 950 | 900 |" in page
    words = " ".join(page.split())
    assert "Each run lasts 20 s of that clock or more, until it has 500 trials." in words
    assert "| auto | 10 | 5.00 | 95 | 10.0 | 2 of 2 |" in page
    assert "| grid | 1 | – | – | – | 1 of 2 |" in page
    assert "| gemm/zen5 | 1 | 1.00 ± 0.02 | 0.51 ± 0.03 |" in page
    assert "| synthetic.mixed.0 | 1,000 | 0.87 | – |" in page
    assert max(map(len, page.splitlines())) <= 100


def test_the_page_without_batches(tmp_path: Path) -> None:
    page = write_scale(tmp_path, scale_figures(ORIGIN, SETTINGS, ROWS, [], []))
    assert page.endswith("Not measured.\n")


def test_an_idle_machine_is_not_called_busy(tmp_path: Path) -> None:
    page = write_scale(tmp_path, {**scale_figures(ORIGIN, SETTINGS, ROWS, [], []), "load": 0.5})
    assert "mean of 15 minutes: 0.5\n" in page
    assert "busy with other work" not in page
