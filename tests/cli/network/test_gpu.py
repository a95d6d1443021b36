"""``tunesmith network`` for GPUs: on a machine without one, and on one with an emulated one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.compiled import needs_nvcc
from tests.emulated import needs_compiler
from tests.networks.small import random_input, result_of, seeded, torch
from tests.patience import PATIENCE
from tunesmith.networks.importing.pytorch import exported
from tunesmith.testing.emulated_gpu import environment


class Small(torch.nn.Module):  # type: ignore[misc]
    """A product, and what no operator covers."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(6, 8)

    def forward(self, data: Any) -> Any:
        left, right = self.linear(data).chunk(2, 1)
        return torch.sin(torch.cat([right, left], 1))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "net.pt2"
    torch.export.save(exported(seeded(Small()), (random_input(2, 6),)), str(path))
    return path


def tunesmith(folder: Path, *words: object, gpus: int) -> subprocess.CompletedProcess[str]:
    """Run the command on a machine with so many emulated GPUs."""
    given = {**environment(gpus=gpus), "XDG_CACHE_HOME": str(folder / "cache")}
    command = [str(Path(sys.executable).with_name("tunesmith")), "network", *map(str, words)]
    return subprocess.run(
        command,
        env=given,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


@needs_compiler
@pytest.mark.slow
def test_tune_build_and_run_where_there_is_a_gpu(model: Path, tmp_path: Path) -> None:
    gpu = ("--target", "cuda", "--store", "t.db", "--json")
    tune = ("tune", model, *gpu, "--seconds", 8, "--build-timeout", 120)
    trials = 0
    for _ in range(10):
        ran = tunesmith(tmp_path, *tune, gpus=1)
        assert ran.returncode == 0, ran.stderr
        (task,) = json.loads(ran.stdout)["tasks"]
        assert task["task"].endswith("@cuda")
        assert task["after"] > 0
        trials += task["trials"]
        if trials > 2:  # A store with no more than the default is not built from.
            break

    ran = tunesmith(tmp_path, "build", model, *gpu, "-o", "net.so", gpus=1)
    assert ran.returncode == 0, ran.stderr
    built = json.loads(ran.stdout)
    assert (built["stored_tasks"], built["unchecked"]) == (1, None)
    assert built["relative_error"] < 1e-5

    data = random_input(2, 6)
    np.save(tmp_path / "data.npy", data.numpy())
    words = ("run", "net.so", "--input", "data.npy", "--calls", 3, "-o", "results.npz", "--json")
    ran = tunesmith(tmp_path, *words, gpus=1)
    assert ran.returncode == 0, ran.stderr
    found = np.load(tmp_path / "results.npz")["output0"]
    np.testing.assert_allclose(found, result_of(seeded(Small()), data).numpy(), 1e-4, 1e-5)


@needs_compiler
@needs_nvcc
def test_build_without_a_gpu_and_what_needs_one(model: Path, tmp_path: Path) -> None:
    gpu = ("--target", "cuda", "--store", "t.db")
    ran = tunesmith(tmp_path, "build", model, *gpu, "--arch", "sm_90", "-o", "net.so", gpus=0)
    assert ran.returncode == 0, ran.stderr
    assert "not compared with the source: no NVIDIA GPU can be used: " in ran.stdout
    for words, hint in (
        (("run", "net.so"), ""),
        (("tune", model, *gpu), "; tunesmith network build needs no GPU"),
        (("compare", model, *gpu), "; tunesmith network build needs no GPU"),
        (("show", model, *gpu), "; or name one to build for, such as --arch sm_90"),
    ):
        ran = tunesmith(tmp_path, *words, gpus=0)
        assert ran.returncode == 2
        (line,) = ran.stderr.splitlines()
        assert re.fullmatch(rf"tunesmith: no NVIDIA GPU can be used: [^;]+{hint}", line)
