"""The figures that sum up ``bench networks``, its page and its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.networks.rows import ratio, row, side
from tests.bench.operators.rows import ORIGIN
from tunesmith.bench.networks.files import read_networks, write_networks
from tunesmith.bench.networks.summary import (
    early_share,
    memory_ratio,
    network_summary,
    untuned_ratio,
)
from tunesmith.bench.networks.workloads import network_workloads
from tunesmith.bench.rewrite import rewrite
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.store import this_machine

ROWS = [
    row("resnet18", {"onnxruntime": 2.0, "openvino": 1.6}),
    row("dqn", {"onnxruntime": 0.9, "openvino": 3.0}, disturbed=True),
    row("dqn.b8", {"onnxruntime": 0.8}, missing={"openvino": "not installed: openvino"}),
]


def test_figures_that_sum_up() -> None:
    found = {figure.name: figure for figure in network_summary(ROWS)}
    zoo = found["the zoo against the best peer, geometric mean"]
    assert zoo.value == pytest.approx((1.6 * 0.9) ** 0.5)
    assert (zoo.have, zoo.of, zoo.reached) == (2, 14, False)
    least = found["the least of all"]
    assert (least.value, least.have, least.of) == (0.8, 3, 18)
    assert found["resnet18"].reached
    assert found["untuned: seconds to build ResNet-18"].reached
    assert found["ResNet-18: share of the gain after 3 minutes"].value == pytest.approx(0.75)
    assert found["vgg16"].value is None


def test_which_figures_are_reached() -> None:
    rows = [row(name, {"openvino": 1.5, "onnxruntime": 1.6}) for name in network_workloads()]
    missed = {figure.name for figure in network_summary(rows) if not figure.reached}
    assert missed == {
        "untuned: the zoo, geometric mean",
        "ResNet-18: share of the gain after 3 minutes",
    }


def test_what_a_row_may_lack() -> None:
    alone = row("dqn", {}, builds={})
    assert [of(alone) for of in (untuned_ratio, early_share, memory_ratio)] == [None] * 3
    slower = row("dqn", {"onnxruntime": 1.0}, milliseconds=20.0)
    assert early_share(slower) is None, "tuning gained nothing"
    ours = row("dqn", {"onnxruntime": 1.0}, **side(10.0, peak_bytes=50_000_000))
    assert memory_ratio(ours) == 0.25


def test_the_page(tmp_path: Path) -> None:
    figures, page = write_networks(tmp_path, [_here(each) for each in ROWS])
    assert "| resnet18 | 10.00 | 1.60 | 1.44–1.76 | **1.60** | 2.00 | – | – | 80 |" in page
    assert "| dqn ! |" in page
    assert "| resnet18 | conv2d 64×56×56 → 64×56×56, 3×3 | 4 | 40 % | 50 % | cpu_winograd |" in page
    assert "OpenVINO: not installed: openvino (dqn.b8)" in page
    assert max(len(line) for line in page.splitlines()) <= 100
    assert figures == json.loads((tmp_path / "networks.json").read_text())
    (tmp_path / "networks.md").unlink()
    rewrite(tmp_path / "networks.json")
    assert (tmp_path / "networks.md").read_text() == page
    assert list(read_networks(tmp_path)) == ["resnet18", "dqn", "dqn.b8"]


def test_metaschedule_on_the_page(tmp_path: Path) -> None:
    found = {
        **{"seconds": 612.0, "trials": 900, "valid": 870, "tasks": 19, "tasks_tuned": 17},
        **{"milliseconds": 25.0, "our_milliseconds": 10.0, "disturbed": True},
        **ratio(2.5),
        "origin": {**ORIGIN, "date": "2026-03-04"},
    }
    rows = [
        row("resnet18", {"openvino": 1.6}, metaschedule=found),
        row("dqn", {"openvino": 1.6}, metaschedule={**found, "tasks": None, "disturbed": False}),
        row("dcgan", {"openvino": 1.6}, metaschedule={"missing": "MetaSchedule failed: no more"}),
    ]
    page = write_networks(tmp_path, rows)[1]
    figures = "10.00 | 25.00 | 2.50 | 2.25–2.75 | 10 min 12 s | 900"
    assert f"| resnet18 ! | {figures} | 17 of 19 |" in page
    assert f"| dqn | {figures} | 17 of – |" in page
    assert "- dcgan: not compared: MetaSchedule failed: no more" in page
    assert "2026-03-04" in page, "it may be compared on another day"
    assert "MetaSchedule" not in write_networks(tmp_path, ROWS)[1]


def test_rows_of_a_gpu_are_files_of_their_own(tmp_path: Path) -> None:
    """Their page tells nothing that is measured, or wanted, on CPUs only."""
    machine = this_machine("NVIDIA H100")
    found = row("dqn", {"pytorch": 2.0, "torch-compile": 1.2}, where=None)
    found["origin"] = {**found["origin"], "machine": machine}
    figures, page = write_networks(tmp_path, [found], "cuda")
    assert figures["machine"]["device"] == "NVIDIA H100"
    assert page.startswith("# Whole networks against other runtimes")
    assert "GiB, NVIDIA H100" in page
    assert "| dqn | 10.00 | 1.20 | 1.08–1.32 | **1.20** | 2.00 |" in page
    for absent in ("OpenVINO", "## Figures", "## Where the time goes"):
        assert absent not in page
    assert (tmp_path / "networks-cuda.json").exists()
    assert not (tmp_path / "networks.json").exists()
    rewrite(tmp_path / "networks-cuda.json")
    assert (tmp_path / "networks-cuda.md").read_text() == page
    with pytest.raises(TunesmithError, match="rows of another machine"):
        read_networks(tmp_path, kind="cuda")


def test_a_page_without_rows(tmp_path: Path) -> None:
    figures, page = write_networks(tmp_path, [])
    assert figures["rows"] == []
    assert "## Networks" in page


def test_rows_of_another_machine(tmp_path: Path) -> None:
    other = row("dqn", {})
    other["origin"] = {**other["origin"], "machine": {**this_machine(), "fingerprint": "other"}}
    write_networks(tmp_path, [other])
    with pytest.raises(TunesmithError, match="another machine"):
        read_networks(tmp_path)
    assert read_networks(tmp_path, ["dqn"]) == {}


def test_names_and_patterns() -> None:
    assert list(network_workloads(["dqn*"])) == ["dqn", "dqn.b8"]
    with pytest.raises(UsageError, match="did you mean dqn"):
        network_workloads(["dqm"])


def _here(each: dict[str, Any]) -> dict[str, Any]:
    return {**each, "origin": {**each["origin"], "machine": this_machine()}}
