"""The times of thinking: a row for each, and nothing measured wrongly short."""

from __future__ import annotations

import pytest

from tunesmith.bench.autotvm import speed

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
