"""``tunesmith bench store``: the page and the figures that it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.store.test_load import ROW, SQLITE
from tests.cli.conftest import Command
from tunesmith.bench.store import load
from tunesmith.bench.store.load import LoadSettings


def test_the_command_writes_the_page_and_the_figures(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[LoadSettings] = []

    def measured(settings: LoadSettings, say: object) -> list[dict[str, Any]]:
        asked.append(settings)
        return [ROW, SQLITE]

    monkeypatch.setattr(load, "measure_load", measured)
    words = ["bench", "store", "-o", tmp_path, "--records", "90", "--writers", "3"]
    figures = command(*words, "--json").json
    assert asked == [LoadSettings(records=90, writers=3)]
    assert figures["rows"] == [ROW, SQLITE]
    assert "sqlalchemy" in figures["versions"]
    assert json.loads((tmp_path / "store.json").read_text(encoding="utf-8")) == figures
    assert command(*words).out == (tmp_path / "store.md").read_text(encoding="utf-8") + "\n"


def test_without_a_server(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path: None)
    ran = command("bench", "store", "-o", tmp_path)
    assert ran.code == 1
    assert "PostgreSQL's server is missing: install PostgreSQL" in ran.err


def test_more_writers_than_records(command: Command, tmp_path: Path) -> None:
    ran = command("bench", "store", "-o", tmp_path, "--records", "3")
    assert ran.code == 2
    assert ran.complaint == "3 records are too few for 16 writers: at least 1 each"
