"""``tunesmith bench operators``: the page and the figures that it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.operators.rows import ORIGIN, origin, row
from tests.cli.conftest import Command
from tunesmith.bench.operators import operators
from tunesmith.bench.operators.files import OperatorFigures, write_operators
from tunesmith.errors import TunesmithError

# Of the files with figures for this machine's processor.
NAME = OperatorFigures().name


def answer(self: object, name: str, operator: object, known: object) -> dict[str, Any] | None:
    """In place of measuring a workload; one of them fails."""
    if name == "matmul.1024":
        raise TunesmithError("nothing valid was found in 3 s")
    return row(name, {"pytorch": 2.0, "onnxruntime": 1.5}) if known is None else None


def test_operators_are_measured_and_written(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Path
) -> None:
    monkeypatch.setattr(operators.OperatorBench, "row", answer)
    folder = tmp_path / "new" / "benchmarks"
    words = ["bench", "operators", "-o", folder, "--store", store, "--no-fused"]
    figures = command(*words, "--workload", "resnet18.C1*", "--json").json
    names = [each["workload"] for each in figures["rows"]]
    assert names == ["resnet18.C1", "resnet18.C10", "resnet18.C11", "resnet18.C12"]
    assert json.loads((folder / f"{NAME}.json").read_text(encoding="utf-8")) == figures
    page = command(*words, "--workload", "matmul.512")
    assert page.out == (folder / f"{NAME}.md").read_text(encoding="utf-8") + "\n"
    assert "| resnet18.C12 |" in page.out, "rows of earlier runs stay"
    assert "| matmul.512 |" in page.out


def test_a_workload_that_fails_does_not_stop_the_others(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Path
) -> None:
    monkeypatch.setattr(operators.OperatorBench, "row", answer)
    words = ["--workload", "matmul.*", "--no-fused", "--store", store, "-o", tmp_path]
    ran = command("bench", "operators", *words, "--json")
    assert ran.code == 1
    assert "matmul.1024: nothing valid was found in 3 s" in ran.err
    assert "tunesmith: no figures for matmul.1024: see above" in ran.err
    rows = json.loads((tmp_path / f"{NAME}.json").read_text(encoding="utf-8"))["rows"]
    assert [each["workload"] for each in rows] == ["matmul.512", "matmul.2048"]


def test_a_run_that_is_killed_loses_no_row(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Path
) -> None:
    def killed(self: object, name: str, operator: object, known: object) -> dict[str, Any] | None:
        if name == "matmul.2048":
            raise KeyboardInterrupt
        return answer(self, name, operator, known)

    monkeypatch.setattr(operators.OperatorBench, "row", killed)
    words = ["--workload", "matmul.512", "--workload", "matmul.2048", "--no-fused"]
    ran = command("bench", "operators", *words, "--store", store, "-o", tmp_path)
    assert ran.code == 130
    rows = json.loads((tmp_path / f"{NAME}.json").read_text(encoding="utf-8"))["rows"]
    assert [each["workload"] for each in rows] == ["matmul.512"]


def test_figures_of_another_machine_are_not_mixed_with_new_ones(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Path
) -> None:
    elsewhere = origin(machine={**ORIGIN["machine"], "fingerprint": "0" * 16})
    write_operators(tmp_path, [row("matmul.512", {"numpy": 2.0}, origin=elsewhere)])
    monkeypatch.setattr(operators.OperatorBench, "row", answer)
    words = ["bench", "operators", "--store", store, "-o", tmp_path, "--workload", "matmul.512"]
    ran = command(*words, "--again")
    assert ran.code == 1
    assert "holds rows of another machine (Some CPU): name another folder" in ran.complaint
    assert [each["origin"] for each in command(*words, "--fresh", "--json").json["rows"]] == [
        ORIGIN
    ]


def test_what_operators_cannot_be_asked_for(command: Command, tmp_path: Path) -> None:
    words = ["bench", "operators", "-o", tmp_path]
    unknown = command(*words, "--workload", "resnet18.C13")
    assert "unknown workload 'resnet18.C13'" in unknown.complaint
    assert "seconds must be positive" in command(*words, "--seconds", "0").complaint
    assert command(*words, "--against", "ansor").code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_operators_for_real(tmp_path: Path, store: Path, command: Command) -> None:
    words = ["--workload", "matmul.512", "--no-fused", "--seconds", "3", "--pairs", "3"]
    ran = command("bench", "operators", *words, "--store", store, "-o", tmp_path, "--json")
    (found,) = ran.json["rows"]
    assert found["workload"] == "matmul.512"
    assert found["gflops"] > 0
    assert found["trials"] > 0
    assert found["tuning_seconds"] > 0
    assert {"numpy", "pytorch", "onnxruntime", "torch-compile"} <= {
        *found["peers"],
        *found["missing"],
    }
    for peer in found["peers"].values():
        assert 0 < peer["low"] <= peer["ratio"] <= peer["high"]
        assert peer["alone"] > 0
    assert found["best_peer_ratio"] == min(peer["ratio"] for peer in found["peers"].values())
    assert "matmul.512: preparing tunesmith ..." in ran.err
    again = command("bench", "operators", *words, "--store", store, "-o", tmp_path, "--json")
    assert again.json["rows"] == [found], "what has figures is left alone"
