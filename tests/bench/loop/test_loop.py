"""``tunesmith bench loop``: what it reports, not how fast that is."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.bench.figures import FIGURES, FOUND, MACHINE, TORCH
from tests.scripted import Scripted
from tunesmith.bench.loop import loop
from tunesmith.bench.loop.loop import LoopSettings, measure_loop, measure_tuned
from tunesmith.bench.loop.page import loop_page
from tunesmith.bench.peers.sides import has_torch
from tunesmith.budget import Budget
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.tuning.tune import tune


def rows(page: str) -> dict[str, list[str]]:
    """The cells of the page's table by their first one."""
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    return {first: rest for first, *rest in lines}


def test_the_page() -> None:
    page = loop_page(FIGURES, MACHINE, "2026-01-02")
    table = rows(page)
    assert table["valid trials a second, random tuner, 500 trials, start-up included"] == [
        "4.8",
        "6 or more",
    ]
    assert table["of these measured; 30 made a program that had been measured"][0] == "4.5"
    assert table["search and record"] == ["2.00 % of the time", "under 5 %"]
    assert table["memory of the tuning process"] == ["300 MiB", "under 1.5 GB"]
    assert table["its growth from trial 100 to the last"] == ["0.2 MiB", "none"]
    assert table["processes left behind"] == ["0", "none"]
    assert table["the same against the default schedule"][0] == "12.5×"
    assert table["the same against PyTorch's conv2d (oneDNN)"] == [
        "2.50× (95 % interval 2.25–2.75)",
        "2× or more",
    ]
    assert table["best of a task among 1,000,000 records"] == ["0.8 ms", "under 10 ms"]
    assert table["records stored a second, in batches"] == ["25,000", "2,000 or more"]
    assert "- machine: Some CPU, 2 cores, 8 GiB" in page
    assert "- versions: tunesmith 0.1.0, torch 2.13.0" in page
    assert "- date: 2026-01-02" in page
    assert "search 0 %, build 60 %, run 30 %, record 2 %, idle 8 %." in page
    assert json.dumps(FOUND["config"]) in page
    assert "25 pairs of rounds in separate processes" in page
    assert max(map(len, page.splitlines())) <= 100


def test_the_page_without_pytorch() -> None:
    tuned = {name: value for name, value in FIGURES["tuned"].items() if name != "torch"}
    page = loop_page({**FIGURES, "tuned": tuned}, MACHINE, "2026-01-02")
    assert "PyTorch" not in page
    assert "the same against the default schedule" in rows(page)


@pytest.mark.parametrize("name", ["trials", "seconds", "records", "pairs"])
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_settings_are_positive(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"{name} must be positive, not {value}"):
        LoopSettings(**{name: value})


def test_a_run_too_short_to_find_anything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failed = tune(Scripted(seconds=lambda n: math.inf, size=2), "grid", store="sqlite://")
    monkeypatch.setattr(loop, "_tune", lambda *_: failed)
    with pytest.raises(TunesmithError, match="2 s of tuning are too few: no valid config was"):
        measure_tuned(tmp_path / "tuned.db", LoopSettings(seconds=2.0), lambda text: None)


@pytest.mark.slow
def test_the_real_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    # A busy machine may find nothing in few seconds, so that part has its trials counted too.
    monkeypatch.setattr(loop, "Budget", lambda trials=4, seconds=None: Budget(trials=trials))
    said: list[str] = []
    figures = measure_loop(LoopSettings(trials=5, seconds=4.0, records=1000, pairs=3), said.append)
    assert figures["layer"] == "resnet18.C8"
    assert figures["settings"]["pairs"] == 3
    random, tuned = figures["random"], figures["tuned"]
    assert (random["trials"], tuned["trials"]) == (5, 4)
    assert random["processes_left"] == 0
    assert random["memory_mib"] > 0.0
    assert 0.0 < random["overhead_share"] < 1.0
    assert tuned["best"]["seconds"] > 0.0
    assert tuned["gain"] > 0.0
    assert figures["store"]["records"] == 1000
    if has_torch():
        torch = tuned["torch"]
        assert torch["pairs"] == 3
        assert 0.0 < torch["low"] <= torch["ratio"] <= torch["high"]
        assert "comparing with PyTorch, in turn ..." in said
    else:
        assert "PyTorch is not installed: no comparison" in said
    page = loop_page({**figures, "versions": {}}, MACHINE, "today")
    assert json.loads(json.dumps(figures)) == json.loads(json.dumps(figures, allow_nan=False))
    assert "resnet18.C8" in page


def test_a_busy_machine_is_told_of() -> None:
    disturbed = {**TORCH, "second": 2 * TORCH["second_alone"]}
    tuned = {**FIGURES["tuned"], "torch": disturbed}
    assert "2.0 times slower than alone" in loop_page(
        {**FIGURES, "tuned": tuned}, MACHINE, "2026-01-02"
    )
    assert "slower than alone" not in loop_page(FIGURES, MACHINE, "2026-01-02")
