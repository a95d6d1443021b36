"""``tunesmith bench gpu`` on a machine with an emulated GPU, as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Process, Ran, eventually
from tests.emulated import needs_compiler
from tests.patience import PATIENCE
from tunesmith.bench.gpu.bench import PARTS
from tunesmith.cli.bench.gpu import Part
from tunesmith.measure.recorded.replay import ReplayProblem
from tunesmith.testing.emulated_gpu import environment

pytestmark = needs_compiler

SIZES = "--m 8 --n 8 --k 8"
PRODUCT = f"matmul {SIZES}"
LAYER = "conv2d --ci 4 --h 4 --w 4 --co 4 --kernel 3 --padding 1"
# Of each part the least that there is.
SMALL = (
    *("--small", PRODUCT, "--sketch", "gemm_424", "--configs", 1),
    *("--workload", PRODUCT, "--recorded", LAYER),
)


def start(folder: Path, *words: object, **gpu: Any) -> Process:
    """Begin the command where there is a GPU, with the figures in the folder ``out``."""
    given = environment(**gpu) | {"XDG_CACHE_HOME": str(folder / "cache")}
    return Process.start(["bench", "gpu", "--output", folder / "out", *words], env=given)


def bench(folder: Path, *words: object, **gpu: Any) -> Ran:
    """Run it to its end."""
    process = start(folder, *words, **gpu)
    with process.cleaned_up():
        return process.wait()


def figures(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / "gpu.json").read_text(encoding="utf-8"))
    return found


def test_the_command_knows_all_parts() -> None:
    assert [part.value for part in Part] == list(PARTS)


def test_without_a_gpu_there_is_one_line(tmp_path: Path) -> None:
    ran = bench(tmp_path, gpus=0)
    assert ran.code == 2
    assert ran.complaint.startswith("no NVIDIA GPU can be used: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--workload", "resnet18.C13"), "unknown workload 'resnet18.C13': did you mean"),
        (("--workload", "matmul --m 8"), "matmul also needs "),
        (("--sketch", "cuda_no"), "unknown sketch 'cuda_no'"),
        (("--seconds", 0), "seconds must be positive, not 0"),
    ],
)
def test_what_does_not_exist_is_refused(
    tmp_path: Path, words: tuple[object, ...], complaint: str
) -> None:
    ran = bench(tmp_path, *words, gpus=1)
    assert ran.code == 2
    assert complaint in ran.complaint


@pytest.mark.slow
def test_all_parts(tmp_path: Path) -> None:
    for seconds in (36, 144):  # on busy cores the first may not do for all
        ran = bench(tmp_path, *SMALL, "--seconds", seconds, "--pairs", 3, gpus=1)
        if ran.code == 0 and "no time was left" not in ran.err:
            break
    assert ran.code == 0, ran.err
    found = figures(tmp_path)
    assert list(found["parts"]) == list(PARTS)
    assert not any(part["failed"] for part in found["parts"].values())
    assert found["gpu"]["name"] == "Emulated GPU"

    (sketch,) = found["sketches"]
    assert sketch["sketch"] == "cuda_gemm_424"
    # On a busy machine its share of the time may end before a build does.
    assert sketch["outcomes"].get("NO_ERROR", 0) + sketch["unfinished"] == 2, sketch
    (row,) = found["rows"]
    assert row["workload"] == PRODUCT
    assert row["tuning"]["best_seconds"] > 0
    trials = row["tuning"]["trials"] + row["tuning"]["earlier_trials"]  # those of 36 seconds
    assert trials == sum(row["tuning"]["outcomes"].values())
    assert "reached" in found["figures"][0]

    replay = ReplayProblem(tmp_path / "out" / found["recording"]["file"])
    assert len(replay.configs) == found["recording"]["configs"]

    page = (tmp_path / "out" / "gpu.md").read_text(encoding="utf-8")
    assert page.strip() == ran.out.strip()
    # PyTorch is not installed here, or has no CUDA, or finds none of its GPUs.
    assert "**Not compared: PyTorch" in page
    assert "no comparison: PyTorch" in ran.err


@pytest.mark.slow
def test_what_was_measured_outlives_the_run(tmp_path: Path) -> None:
    other = f"dense {SIZES}"
    words = ("--only", "tuning", "--workload", PRODUCT, "--workload", other, "--seconds", 24)
    written = tmp_path / "out" / "gpu.json"
    process = start(tmp_path, *words, gpus=1)
    with process.cleaned_up():
        eventually(written.exists, "a row is written")
        process.process.kill()
    # On busy cores the next one may be there as well, for which no time was left.
    kept = [row["workload"] for row in figures(tmp_path)["rows"]]
    assert kept in ([PRODUCT], [PRODUCT, other])
    again = ("--only", "recording", "--recorded", LAYER, "--json")
    for seconds in (14, 56):
        ran = bench(tmp_path, *again, "--seconds", seconds, gpus=1)
        if ran.code == 0:
            break
    assert [row["workload"] for row in ran.json["rows"]] == kept
    assert ran.json["recording"]["configs"] > 0


_COMPARISON = """
import json
from contextlib import closing
from dataclasses import asdict
from tunesmith.bench.gpu.peers import GpuPeers
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.errors import TunesmithError
from tunesmith.operators import conv2d, matmul
from tunesmith.target import Target
from tunesmith.task import Task

target = Target("cuda")
layer = conv2d(ci=4, h=4, w=4, co=4, kernel=3, padding=1, constant_weights=True)
found = []
with closing(GpuPeers("cpu")) as peers:
    peers.versions()
    for operator in (matmul(m=8, n=8, k=8), layer):
        problem = TaskProblem.of(Task(operator, target))
        tuned = {"sketch": problem.sketch.name, "target": asdict(target), "program_hash": "0"}
        for config in ({"no": 1}, problem.default.to_json()):
            try:
                found.append(peers.compare(operator, {**tuned, "config": config}, 3))
            except TunesmithError as error:
                found.append(str(error))
print(json.dumps(found))
"""


@pytest.mark.slow
def test_sides_take_turns_and_a_broken_one_is_replaced(tmp_path: Path) -> None:
    """With PyTorch on the processor, so that the figures mean nothing."""
    pytest.importorskip("torch", reason="PyTorch is what is compared with")
    given = environment(gpus=1) | {"XDG_CACHE_HOME": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", _COMPARISON],
        env=given, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    refused, product, refused_too, layer = json.loads(ran.stdout)
    assert refused.startswith("our program failed: the sketch's space has no such config")
    assert refused_too.startswith("our program failed: ")
    assert product["library"]["name"] == "cuBLAS"
    assert layer["library"]["way"] in ("NCHW", "channels last")
    for compared in (product, layer):
        assert compared["rounds"] == 3
        assert compared["low"] <= compared["ratio"] <= compared["high"]
        assert compared["seconds"] > 0
        assert compared["clocks"] == {"sm_mhz": 1000, "memory_mhz": 2000, "celsius": 41}
