"""``tunesmith network``: from a file of torch.export to a library that runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Command
from tests.networks.small import SeveralResults, random_input, result_of, seeded, torch
from tunesmith.networks.importing.pytorch import exported


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "net.pt2"
    torch.export.save(exported(seeded(SeveralResults()), (random_input(2, 6),)), str(path))
    return path


@pytest.mark.slow
def test_tune_show_build_run(command: Command, model: Path, store: Path, tmp_path: Path) -> None:
    tuned = command("network", "tune", model, "--seconds", 6, "--store", store, "--json")
    assert tuned.json["stopped"] in ("seconds", "exhausted")
    (task,) = tuned.json["tasks"]
    assert (task["layers"], task["before"]) == (1, None)
    assert task["trials"] > 0
    assert "1 layer of 1 task" in tuned.err

    shown = command("network", "show", model, "--store", store, "--json").json
    assert [row["seconds"] for row in shown["tasks"]] == [task["after"]]
    assert sorted(shown["uncovered"]) == ["concat", "multiply", "nn.silu", "split"]
    table = command("network", "show", model, "--store", store).out
    assert "1 of 1 tasks have a time: " in table
    assert max(map(len, table.splitlines())) <= 100

    library = tmp_path / "net.so"
    built = command("network", "build", model, "-o", library, "--store", store, "--json").json
    assert built["bytes"] == library.stat().st_size
    assert built["relative_error"] < 1e-5

    data = random_input(2, 6)
    np.save(tmp_path / "data.npy", data.numpy())
    results = tmp_path / "results.npz"
    words = ["network", "run", library, "--input", tmp_path / "data.npy", "--calls", 3]
    ran = command(*words, "-o", results, "--json").json
    assert (ran["calls"], ran["results"]) == (3, [[2, 4], [2, 8], [2, 4]])
    for number, expected in enumerate(result_of(seeded(SeveralResults()), data)):
        found = np.load(results)[f"output{number}"]
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("action", ["tune", "show"])
def test_a_file_that_is_missing(command: Command, action: str, tmp_path: Path) -> None:
    ran = command("network", action, tmp_path / "net.pt2")
    assert ran.code == 2
    assert "there is no file" in ran.complaint
    assert ran.complaint.endswith("name a model that is there")


def test_a_library_that_is_none(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "net.so"
    path.write_text("no library")
    ran = command("network", "run", path)
    assert ran.code == 1
    assert "is not a network's library" in ran.complaint


def test_a_file_that_is_no_array(command: Command, model: Path, tmp_path: Path) -> None:
    library = tmp_path / "net.so"
    assert command("network", "build", model, "-o", library).code == 0
    other = tmp_path / "data.npy"
    other.write_text("no array")
    ran = command("network", "run", library, "--input", other)
    assert ran.code == 2
    assert "is no array of NumPy (.npy): " in ran.complaint


def test_a_network_of_the_zoo(command: Command, store: Path) -> None:
    shown = command("network", "show", "--zoo", "dqn", "--batch", 2, "--store", store, "--json")
    labels = [task["label"] for task in shown.json["tasks"]]
    assert labels[0].startswith("conv2d(n=2, ci=4, h=84, w=84, co=32, kernel=8x8, stride=4x4")


@pytest.mark.parametrize("words", [(), ("net.onnx", "--zoo", "dqn")])
def test_either_a_file_or_a_network_of_the_zoo(command: Command, words: tuple[str, ...]) -> None:
    ran = command("network", "show", *words)
    assert ran.code == 2
    assert ran.complaint.startswith("name a model's file or one --zoo network: resnet18, ")


@pytest.mark.slow
def test_compare_with_other_runtimes(command: Command, model: Path, store: Path) -> None:
    words = ["network", "compare", model, "--store", store, "--rounds", 3]
    found = command(*words, "--json").json
    assert found["milliseconds"] > 0
    assert found["relative_error"] < 1e-5
    assert {"pytorch", "torch-compile"} <= found["peers"].keys()
    assert found["timed_once"].keys() == {"tvm"}
    for peer in found["peers"].values():
        assert peer["low"] <= peer["ratio"] <= peer["high"]
        assert peer["peak_bytes"] > 10_000_000
    assert {*found["peers"], *found["missing"], "tvm"} == {
        *("openvino", "onnxruntime", "torch-compile", "pytorch", "tvm"),
    }
