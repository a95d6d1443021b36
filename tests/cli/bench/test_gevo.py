"""``tunesmith bench gevo``: what it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

pytest.importorskip("deap", reason="DEAP is not installed")
pytest.importorskip("numba", reason="Numba is not installed")


def test_a_case_and_the_code_of_gpus(tmp_path: Path, command: Command) -> None:
    ran = command(
        *("bench", "gevo", "--case", "reduction", "--case", "gpu", "--quick", "--seconds", 3),
        *("--store", tmp_path / "records.db", "-o", tmp_path),
    )
    assert ran.code == 0, ran.err
    assert "reduction:" in ran.err
    figures = json.loads((tmp_path / "evolve.json").read_text())
    assert [row["case"] for row in figures["rows"]] == ["reduction"]
    assert figures["gpu"]["valid"] > 30
    assert "The largest element, exactly" in (tmp_path / "evolve.md").read_text()


def test_what_it_refuses(command: Command) -> None:
    ran = command("bench", "gevo", "--case", "svn")
    assert ran.complaint.startswith("unknown case 'svn': did you mean svm")
    ran = command("bench", "gevo", "--seconds", 0)
    assert ran.complaint == "--seconds must be positive, not 0"
    ran = command("bench", "gevo", "--quick")
    assert ran.complaint.endswith("is for figures of long runs: name a folder for --quick by -o")
