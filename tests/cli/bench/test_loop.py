"""``tunesmith bench loop``: the page and the figures that it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.figures import FIGURES, TORCH
from tests.cli.conftest import Command
from tunesmith.bench.loop import loop
from tunesmith.bench.loop.loop import LoopSettings


def test_the_command_writes_the_page_and_the_figures(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[LoopSettings] = []

    def measured(settings: LoopSettings, say: object) -> dict[str, Any]:
        asked.append(settings)
        return dict(FIGURES)

    monkeypatch.setattr(loop, "measure_loop", measured)
    folder = tmp_path / "new" / "benchmarks"
    words = ["bench", "loop", "-o", folder, "--trials", "7", "--seconds", "3", "--records", "9"]
    figures = command(*words, "--json").json
    assert asked == [LoopSettings(trials=7, seconds=3.0, records=9)]
    assert figures["tuned"]["torch"] == TORCH
    assert json.loads((folder / "loop.json").read_text(encoding="utf-8")) == figures
    page = (folder / "loop.md").read_text(encoding="utf-8")
    assert page.startswith("# The tuning loop\n")
    assert command(*words).out == page + "\n"


def test_a_folder_that_cannot_be_made_is_told_first(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(loop, "measure_loop", lambda settings, say: pytest.fail("it was not"))
    ran = command("bench", "loop", "-o", tmp_path / "file" / "benchmarks")
    assert "cannot make the folder" in ran.complaint
    assert ran.code == 1


def test_a_folder_that_cannot_be_written_to_is_told_first(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "measure_loop", lambda settings, say: pytest.fail("it was not"))
    ran = command("bench", "loop", "-o", "/proc")
    assert "cannot write to the folder /proc" in ran.complaint
    assert ran.code == 1
