"""``tunesmith network``: from a file of torch.export to a library that runs."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.command import tunesmith
from tests.cli.conftest import Command
from tests.networks.small import SeveralResults, random_input, result_of, seeded, torch
from tunesmith.cli.network.arrays import arrays_of
from tunesmith.cli.network.choice import NetworkChoice
from tunesmith.errors import UsageError
from tunesmith.networks.importing.pytorch import exported


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "net.pt2"
    torch.export.save(exported(seeded(SeveralResults()), (random_input(2, 6),)), str(path))
    return path


@pytest.mark.slow
def test_tune_show_build_run(
    command: Command,
    model: Path,
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def told(_store: Any, _target: Any, _transfer: Any, tell: Callable[[str], None]) -> None:
        tell("learning from 600 trials")

    monkeypatch.setattr(importlib.import_module("tunesmith.networks.tune"), "model_for", told)
    page = tmp_path / "page.html"
    words = ["network", "tune", model, "--seconds", 6, "--store", store, "--report", page]
    tuned = command(*words, "--json")
    assert tuned.json["stopped"] in ("seconds", "exhausted")
    (task,) = tuned.json["tasks"]
    assert (task["layers"], task["before"]) == (1, None)
    assert task["trials"] > 0
    assert "1 layer of 1 task" in tuned.err
    assert tuned.err.splitlines().count("learning from 600 trials") == 1
    written = page.read_text()
    assert "dense 2×6 → 2×8, bias" in written
    assert f"tunesmith network tune {model} --seconds 6 --store {store} --report {page}" in written

    shown = command("network", "show", model, "--store", store, "--json").json
    assert [row["seconds"] for row in shown["tasks"]] == [task["after"]]
    assert sorted(shown["uncovered"]) == ["concat", "cos", "sin", "split"]
    table = command("network", "show", model, "--store", store).out
    assert "1 of 1 tasks have a time: " in table
    assert max(map(len, table.splitlines())) <= 100

    library = tmp_path / "net.so"
    build = command("network", "build", model, "-o", library, "--store", store, "--json")
    built = build.json
    assert "nothing in the store" not in build.err
    # A busy machine may have had time for the default alone, which no build takes.
    assert (built["tasks"], built["stored_tasks"]) == (1, int(task["trials"] > 1))
    assert built["bytes"] == library.stat().st_size
    assert built["relative_error"] < 1e-5
    assert built["weight_bytes_before"] == 4 * (6 * 8 + 8)
    assert built["weight_bytes_before"] <= built["weight_bytes"] < 2 * 4 * (6 * 8 + 8)

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


def test_a_file_that_is_no_array(
    command: Command, model: Path, store: Path, tmp_path: Path
) -> None:
    library = tmp_path / "net.so"
    built = command("network", "build", model, "-o", library, "--store", store, "--contenders", 1)
    assert built.code == 0
    assert built.err.count("nothing in the store is of this network, so all programs are") == 1
    assert built.out.splitlines()[0].endswith(" MB, 1 layer of 1 task, 0 of these from the store")
    other = tmp_path / "data.npy"
    other.write_text("no array")
    ran = command("network", "run", library, "--input", other)
    assert ran.code == 2
    assert "is no array of NumPy (.npy): " in ran.complaint
    ran = command("network", "run", library, "--input", other, "--batch", 1)
    assert ran.complaint == "arrays have a batch of their own: leave out --batch, or --input"
    once = ("network", "run", library, "--calls", 1, "-o")
    assert command(*once, tmp_path / "new" / "results.npz").code == 0
    assert "output0" in np.load(tmp_path / "new" / "results.npz")
    ran = command(*once, tmp_path)
    assert ran.code == 1
    assert ran.complaint.startswith(f"cannot write {tmp_path}: ")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04nothing", b"no array"])
def test_arrays_that_are_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "data.npy").write_bytes(content)
    with pytest.raises(UsageError, match="is no array of NumPy"):
        arrays_of([tmp_path / "data.npy"])


def test_the_words_of_a_network_for_a_gpu() -> None:
    choice = NetworkChoice(model=Path("net.pt2"), target="cuda", arch="sm_90")
    assert choice.words == ["net.pt2", "--target", "cuda", "--arch", "sm_90"]


def test_a_network_of_the_zoo(command: Command, store: Path) -> None:
    shown = command("network", "show", "--zoo", "dqn", "--batch", 2, "--store", store, "--json")
    labels = [task["label"] for task in shown.json["tasks"]]
    assert labels[0].startswith("conv2d(n=2, ci=4, h=84, w=84, co=32, kernel=8x8, stride=4x4")


class Largest(torch.nn.Module):  # type: ignore[misc]
    """Which TVM's sorting finds, in a library of its own."""

    def forward(self, data: Any) -> Any:
        return torch.topk(data, 2)[0]


def test_what_sorts_is_called_by_another_process(command: Command, tmp_path: Path) -> None:
    model, library, data = tmp_path / "net.pt2", tmp_path / "net.so", random_input(3, 6)
    torch.export.save(exported(Largest().eval(), (data,)), str(model))
    np.save(tmp_path / "data.npy", data.numpy())
    store = tmp_path / "none.db"
    assert command("network", "build", model, "-o", library, "--store", store).code == 0
    words = ("network", "run", library, "--input", tmp_path / "data.npy", "--calls", 1)
    assert tunesmith(*words, "-o", tmp_path / "found.npz").code == 0
    found = np.load(tmp_path / "found.npz")["output0"]
    np.testing.assert_array_equal(found, np.sort(data.numpy())[:, :-3:-1])


def test_several_batches(command: Command, store: Path, tmp_path: Path) -> None:
    batch = torch.export.Dim("batch")
    program = torch.export.export(
        seeded(SeveralResults()), (random_input(2, 6),), dynamic_shapes=({0: batch},)
    )
    model, library = tmp_path / "net.pt2", tmp_path / "net.so"
    torch.export.save(program, str(model))
    words = ("network", "build", model, "--batch", 3, "--batch", 1, "--store", store)
    built = command(*words, "-o", library, "--contenders", 1, "--json").json
    assert (built["layers"], built["tasks"]) == (2, 2)
    for asked, found in (((), 1), (("--batch", 3), 3)):
        ran = command("network", "run", library, *asked, "--calls", 1, "--json").json
        assert ran["results"][0] == [found, 4]
    ran = command("network", "run", library, "--batch", 2)
    assert (ran.code, ran.complaint) == (
        2,
        "this network is built for the batches 1, 3, not for 2",
    )


def test_one_batch_is_compared_at_a_time(command: Command) -> None:
    ran = command("network", "compare", "--zoo", "dqn", "--batch", 1, "--batch", 8)
    assert (ran.code, ran.complaint) == (
        2,
        "one batch is compared at a time: give one --batch",
    )


def test_the_folder_for_c(command: Command, tmp_path: Path) -> None:
    written = command("network", "example", "-o", tmp_path / "example", "--json").json
    names = {path.name for path in map(Path, written["files"])}
    assert names >= {"network.h", "c_api.h", "dlpack.h", "libtvm_ffi.so", "example.c", "Makefile"}
    assert all(Path(path).is_file() for path in written["files"])
    assert f"-I{tmp_path}/example/include" in written["flags"]
    text = command("network", "example", "-o", tmp_path / "example").out
    assert "-ltvm_runtime -ltvm_ffi" in text


@pytest.mark.parametrize("words", [(), ("net.onnx", "--zoo", "dqn")])
def test_either_a_file_or_a_network_of_the_zoo(command: Command, words: tuple[str, ...]) -> None:
    ran = command("network", "show", *words)
    assert ran.code == 2
    assert ran.complaint.startswith("name a network, its file or one of --zoo: resnet18, ")


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
