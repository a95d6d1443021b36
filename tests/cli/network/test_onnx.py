"""``tunesmith network`` with a file in ONNX, on real inputs, without PyTorch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Command
from tests.networks.small_onnx import onnx, saved, small_model

RNG = np.random.default_rng(0)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(small_model(), tmp_path)


def array(folder: Path, *shape: int) -> Path:
    path = folder / "data.npy"
    np.save(path, RNG.random(shape, dtype=np.float32))
    return path


def test_a_build_is_checked_on_real_inputs(
    command: Command, model: Path, store: Path, tmp_path: Path
) -> None:
    library, data = tmp_path / "net.so", array(tmp_path, 1, 3, 8, 8)
    words = ["network", "build", model, "-o", library, "--store", store, "--contenders", 1]
    built = command(*words, "--input", data, "--json").json
    assert built["relative_error"] < 1e-5
    ran = command("network", "run", library, "--input", data, "--calls", 1, "--json").json
    assert ran["results"] == [[1, 5]]


@pytest.mark.parametrize(
    ("shape", "complaint"),
    [
        ((1, 3, 8, 9), "shape (1, 3, 8, 8), not float32 of shape (1, 3, 8, 9)"),
        ((3, 8, 8), "shape (1, 3, 8, 8), not float32 of shape (3, 8, 8)"),
    ],
)
def test_inputs_that_do_not_fit(
    command: Command, model: Path, tmp_path: Path, shape: tuple[int, ...], complaint: str
) -> None:
    words = ["network", "build", model, "-o", tmp_path / "net.so", "--store", "sqlite://"]
    ran = command(*words, "--input", array(tmp_path, *shape))
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == f"tunesmith: data must be float32 of {complaint}"
    assert not (tmp_path / "net.so").exists()


def test_too_many_inputs(command: Command, model: Path, tmp_path: Path) -> None:
    data = array(tmp_path, 1, 3, 8, 8)
    words = ["network", "build", model, "-o", tmp_path / "net.so", "--store", "sqlite://"]
    ran = command(*words, "--input", data, "--input", data)
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == "tunesmith: this network takes 1 inputs (data): 2"


def test_a_model_of_a_newer_version(command: Command, tmp_path: Path) -> None:
    newer = small_model()
    newer.opset_import[0].version = 999
    path = tmp_path / "newer.onnx"
    path.write_bytes(newer.SerializeToString())
    ran = command("network", "show", path)
    assert ran.code == 2
    known = onnx.defs.onnx_opset_version()
    assert f"{path} has operators of version 999, and the package onnx" in ran.complaint
    assert ran.complaint.endswith(
        f"knows them up to {known}: export the model for an older version"
    )
