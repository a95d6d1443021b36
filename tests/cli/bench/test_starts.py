"""``tunesmith bench starts`` as a command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.operators.rows import ORIGIN
from tests.cli.conftest import Command
from tunesmith.bench.starts import starts


def run(speed: float) -> dict[str, Any]:
    """The figures of a run of 100 trials."""
    figures = {"trials": 100, "seed": 0, "valid": 100, "seconds": 9.0, "curve": [[1, speed]]}
    return {"origin": ORIGIN, **figures}


def test_the_command_writes_after_each_run(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def answer(*_: object, prior: bool) -> dict[str, Any]:
        if (
            not prior
            and (tmp_path / "starts.json").read_text(encoding="utf-8").count("trials") == 3
        ):
            raise KeyboardInterrupt
        return run(9.0 if prior else 5.0)

    monkeypatch.setattr(starts, "_run", answer)
    words = ["bench", "starts", "-o", tmp_path, "--trials", "100", "--workload", "opevo.MM?"]
    assert command(*words).code == 130
    rows = json.loads((tmp_path / "starts.json").read_text(encoding="utf-8"))["rows"]
    assert [len(each["runs"]) for each in rows] == [2, 1]
    monkeypatch.setattr(starts, "_run", lambda *_, prior: run(5.0))
    figures = command(*words, "--json").json
    assert [each["workload"] for each in figures["rows"]] == ["opevo.MM1", "opevo.MM2", "opevo.MM3"]
    assert figures["start_share"]["prior"] == 1
    assert "must be more than" in command("bench", "starts", "--trials", "3").complaint
