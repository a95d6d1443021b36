"""``tunesmith bench networks``: what is asked for with ``--against`` and ``--target``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.networks.rows import row
from tests.cli.command import Process
from tests.cli.conftest import Command
from tests.emulated import needs_compiler, no_gpu
from tunesmith.bench.networks.files import write_networks
from tunesmith.bench.networks.metaschedule import MetaScheduleBench
from tunesmith.bench.networks.workloads import NetworkWorkload
from tunesmith.store import this_machine
from tunesmith.testing.emulated_gpu import environment

__all__ = ["no_gpu"]


def test_metaschedule_is_added_to_rows_that_there_are(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Path
) -> None:
    asked: list[tuple[str, Any]] = []

    def fails(self: MetaScheduleBench, workload: NetworkWorkload, known: Any) -> Any:
        asked.append((workload.name, self.seconds))
        return {**known, "metaschedule": {"missing": "MetaSchedule failed"}}

    monkeypatch.setattr(MetaScheduleBench, "row", fails)
    rows = [row("dqn", {"openvino": 1.5}), row("resnet18", {"openvino": 1.5})]
    for each in rows:
        each["origin"] = {**each["origin"], "machine": this_machine()}
    write_networks(tmp_path, rows)
    words = ["bench", "networks", "--against", "metaschedule", "-o", tmp_path, "--store", store]
    command(*words)
    assert asked == [("resnet18", None), ("dqn", None)], "not networks without a row"
    command(*words, "--network", "dqn", "--seconds", "30", "--json")
    assert asked[2:] == [("dqn", 30.0)]
    written = json.loads((tmp_path / "networks.json").read_text(encoding="utf-8"))["rows"]
    assert [each["metaschedule"]["missing"] for each in written] == ["MetaSchedule failed"] * 2


def test_a_network_without_a_row(command: Command, tmp_path: Path, store: Path) -> None:
    words = ["--against", "metaschedule", "--network", "dqn", "-o", tmp_path, "--store", store]
    ran = command("bench", "networks", *words)
    assert ran.code == 1
    assert "dqn: it has no row to add MetaSchedule to: run without --against" in ran.err
    assert "tunesmith: no figures for dqn: see above" in ran.err


@pytest.mark.usefixtures("no_gpu")
def test_networks_on_a_gpu_need_one(command: Command, tmp_path: Path, store: Path) -> None:
    words = ["bench", "networks", "--target", "cuda", "-o", tmp_path / "out", "--store", store]
    ran = command(*words)
    assert ran.code == 2
    assert ran.complaint.startswith("no NVIDIA GPU can be used: ")
    assert ran.complaint.endswith("; tunesmith network build needs no GPU")
    assert not (tmp_path / "out").exists()
    ran = command(*words, "--against", "metaschedule")
    assert ran.code == 2
    assert ran.complaint.startswith("MetaSchedule is compared on CPUs: leave out --against")


@needs_compiler
@pytest.mark.thorough
def test_a_network_on_an_emulated_gpu(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="networks of the zoo need PyTorch")
    words = ["--target", "cuda", "--network", "dqn", "--seconds", 0, "--rounds", 3]
    given = {**environment(gpus=1), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    process = Process.start(
        ["bench", "networks", *words, "-o", tmp_path, "--store", tmp_path / "t.db"], env=given
    )
    with process.cleaned_up():
        ran = process.wait()
    assert ran.code == 0, ran.err
    figures = json.loads((tmp_path / "networks-cuda.json").read_text(encoding="utf-8"))
    (row,) = figures["rows"]
    assert figures["machine"]["device"] == "Emulated GPU"
    assert row["relative_error"] < 1e-5
    assert row["where"] is None
    assert {*row["peers"], *row["missing"]} == {"pytorch", "torch-compile"}
