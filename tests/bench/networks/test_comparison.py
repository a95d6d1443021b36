"""Comparisons of networks: what is told of the sides, and real ones."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tunesmith.bench.networks.comparison import OURS, Comparison, compare, prepared_model
from tunesmith.bench.networks.model import ComparedModel, described_model
from tunesmith.bench.networks.peers import network_peers, versions_of_network_peers
from tunesmith.bench.networks.side import _prepared
from tunesmith.bench.networks.table import comparison_table
from tunesmith.bench.timing.rotation import Turns
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.target import Target


def test_a_comparison_in_json_and_as_a_table() -> None:
    turns = {
        OURS: Turns(0.010, (0.010, 0.012, 0.010), None, 150_000_000),
        "untuned": Turns(0.020, (0.020, 0.024, 0.020)),
        "openvino": Turns(0.015, (0.015, 0.018, 0.015), "ONNX"),
        "pytorch": Turns(0.080, (0.040, 0.048, 0.040), "plain"),
    }
    libraries = (OURS, "untuned")
    missing = {"onnxruntime": "not installed: onnxruntime"}
    found = Comparison(libraries, turns, {"tvm": 1.0}, missing).to_json()
    assert (found["best_peer"], found["best_peer_ratio"]) == ("openvino", pytest.approx(1.5))
    assert found["peers"].keys() == {"openvino", "pytorch"}
    assert found["builds"]["untuned"]["best_peer"]["ratio"] == pytest.approx(0.75)
    assert found["timed_once"] == {"tvm": {"ratio": pytest.approx(100.0), "milliseconds": 1e3}}
    lines = comparison_table(found).splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["Tunesmith", "OpenVINO", "PyTorch", "TVM"]
    assert "1.50 (1.50–1.50)" in lines[2]
    assert lines[2].endswith("ONNX")
    assert lines[3].endswith("plain !")
    assert lines[5] == "ONNX Runtime: not compared: not installed: onnxruntime"
    assert max(map(len, lines)) <= 100


def test_peers_that_cannot_take_a_network() -> None:
    peers = network_peers()
    in_onnx = ComparedModel(None, "net.onnx", 1, onnx="net.onnx")
    assert peers["pytorch"].missing(in_onnx) in (
        "it takes no network in ONNX",
        "not installed: torch",
    )
    assert peers["tvm"].missing(in_onnx) is None
    failed = ComparedModel("dqn", None, 1, why_no_onnx="PyTorch cannot export it")
    assert peers["onnxruntime"].missing(failed) in (
        "PyTorch cannot export it",
        *("not installed: onnxruntime, onnx", "not installed: onnxruntime"),
        "not installed: onnx",
    )


def test_peers_on_a_gpu() -> None:
    model = ComparedModel("dqn", None, 1)
    gpu = Target("cuda", cores=2, arch="sm_90")
    peers = network_peers("cuda")
    assert list(peers) == ["torch-compile", "pytorch"]
    assert peers["pytorch"].side(model, gpu)["device"] == "cuda"
    assert "device" not in peers["pytorch"].side(model, Target(cores=2))
    assert list(versions_of_network_peers("cuda")) in (["torch"], [])


def test_a_side_of_pytorch_on_a_device(tmp_path: Path) -> None:
    """The device ``cpu``, of which all is the same as on a GPU but where the arrays are."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    program = torch.export.export(torch.nn.Linear(6, 3), (torch.zeros(2, 6),))
    torch.export.save(program, tmp_path / "net.pt2")
    np.savez(tmp_path / "inputs.npz", data=np.zeros((2, 6), np.float32))
    given = ComparedModel(None, str(tmp_path / "net.pt2"), 2, str(tmp_path / "inputs.npz"))
    for model in (given, dataclasses.replace(given, zoo="dqn", file=None)):
        if model.zoo:
            np.savez(tmp_path / "inputs.npz", data=np.zeros((2, 4, 84, 84), np.float32))
        side = {"kind": "peer", "peer": "pytorch", "model": model.to_json(), "cores": 1}
        call, count = _prepared({**side, "device": "cpu"})
        call()
        assert count == 1


def test_one_network_of_both() -> None:
    assert described_model("dqn", None, 2) == ComparedModel("dqn", None, 2)
    for zoo, file in ((None, None), ("dqn", Path("net.onnx"))):
        with pytest.raises(UsageError, match="one of both"):
            described_model(zoo, file, 1)


def test_our_network_fails(tmp_path: Path) -> None:
    broken = tmp_path / "net.so"
    broken.write_text("no library")
    model = ComparedModel(None, "net.onnx", 1)
    with (
        prepared_model(model, {"data": np.zeros((2, 6), np.float32)}) as prepared,
        pytest.raises(TunesmithError, match=r"our network failed: .* is not a network's"),
    ):
        compare(prepared, {OURS: broken}, Target(cores=1), rounds=3, slow=False, only=())
