"""The times of thinking: a row for each, and nothing measured wrongly short."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunesmith.bench.autotvm import speed
from tunesmith.bench.autotvm.page import read_models, write_models_page
from tunesmith.bench.pages.provenance import origin_now

pytest.importorskip("xgboost", reason="XGBoost is not installed")


def test_a_row_for_each_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "CANDIDATES", 6)
    monkeypatch.setattr(speed, "OBSERVED", 70)
    monkeypatch.setattr(speed, "SKETCHES", ("cpu_tiled",))
    rows = list(speed.measure_speed())
    assert [row["what"].split()[0] for row in rows] == [
        "features",
        "a",
        "a",
        "starts",
        "favourite",
    ]
    assert all(row["seconds"] > 0.0 and row["wanted"] > 0.0 for row in rows)


def test_the_time_of_a_program_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "SPLIT", 6)
    rows = list(speed.split_features())
    assert [row["sketch"] for row in rows] == list(speed.SKETCHES)
    assert all(0 < row["programs"] <= 6 for row in rows)
    assert all(row[part] > 0.0 for row in rows for part in ("seconds", "compiler"))


def test_the_page_says_what_of_a_program_is_the_compilers(tmp_path: Path) -> None:
    figures = read_models(tmp_path) | {"shipped": {}}
    figures["speed"] = [{"what": "thinking", "seconds": 1.0, "wanted": 1.0, "origin": origin_now()}]
    assert "scheduling and lowering" not in write_models_page(tmp_path, figures)
    figures["program"] = [
        {"sketch": "cpu_tiled", "programs": 100, "seconds": 0.02, "compiler": 0.013}
    ]
    page = write_models_page(tmp_path, figures)
    assert "| cpu_tiled | 20.0 ms | 13.0 ms | 65 % |" in page
