"""``tunesmith tune --build-only``, for GPUs that this machine need not have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.compiled import needs_nvcc
from tests.emulated import no_gpu
from tunesmith.cuda.compiler import has_nvcc

__all__ = ["no_gpu"]

PRODUCT = ("matmul", "--m", 64, "--n", 64, "--k", 64)
GPU = ("--target", "cuda", "--arch", "sm_90")
WITHOUT_ROWS = ("--without-sketch", "cuda_rows")


@pytest.mark.slow
def test_programs_for_a_gpu_as_json(command: Command) -> None:
    words = ("tune", *PRODUCT, *GPU, "--build-only", "--trials", 4, "--build-timeout", 60)
    found = command(*words, "--json").json
    assert found["task"].endswith("@cuda(arch=sm_90)")
    assert sum(found["outcomes"].values()) == len(found["builds"]) == 4
    assert found["outcomes"]["NO_ERROR"] >= 1
    for row in found["builds"]:
        assert row["sketch"] == "cuda_tiled"
        assert row["config"].keys() >= {"tile_i", "tile_j", "tile_k"}
        assert row["outcome"] == "NO_ERROR" or row["message"]
        if row["outcome"] == "NO_ERROR" and has_nvcc():
            assert row["resources"].keys() == {
                "registers",
                "spilled_bytes",
                "shared_bytes",
                "threads",
                "occupancy",
            }


@pytest.mark.slow
def test_programs_for_a_gpu_as_tables(command: Command) -> None:
    ran = command("tune", *PRODUCT, *GPU, "--build-only", "--trials", 3, "--build-timeout", 60)
    assert ran.code == 0, ran.err
    assert "built 3 of 3" in ran.err
    assert "3 configs tried in" in ran.out
    assert "there is a program" in ran.out
    assert ("registers" in ran.out) == has_nvcc()
    assert max(map(len, ran.out.splitlines())) <= 100


def test_a_space_of_a_sketch_without_its_targets_name(command: Command) -> None:
    found = command(
        "space", "--layer", "resnet18.C12", *GPU, "--sketch", "conv2d_direct", "--json"
    ).json
    assert found["sketch"]["name"] == "cuda_conv2d_direct"
    assert found["size"] == 844_800


def test_the_code_of_a_program(command: Command) -> None:
    ran = command("show", *PRODUCT, *GPU, "--form", "cuda", "--config", "default")
    assert ran.code == 0, ran.err
    assert "__global__ void" in ran.out


@pytest.mark.usefixtures("no_gpu")
def test_a_gpu_is_missing_or_named(tmp_path: Path, command: Command) -> None:
    ran = command("tune", *PRODUCT, *GPU[:2], "--build-only")
    assert ran.code == 2
    assert re.fullmatch(
        "no NVIDIA GPU can be used: .*; or name one to build for, such as --arch sm_90",
        ran.complaint,
    )
    ran = command("tune", *PRODUCT, *GPU, "--trials", 3, "--store", tmp_path / "none.db")
    assert ran.code == 2
    assert re.fullmatch("no NVIDIA GPU can be used: .*; --build-only needs no GPU", ran.complaint)
    assert list(tmp_path.iterdir()) == [], "nothing is made of it"


@needs_nvcc
def test_an_architecture_that_the_compiler_does_not_know(command: Command) -> None:
    ran = command("tune", *PRODUCT, *GPU[:2], "--arch", "sm_999", "--build-only")
    assert ran.code == 1
    assert "nothing can be built for sm_999: nvcc failed: " in ran.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (
            ("show", *PRODUCT, *GPU, "--config", "default", "--form", "asm"),
            "a program for a GPU is not shown as asm: give --form cuda",
        ),
        (
            ("show", *PRODUCT, "--form", "cuda", "--config", "default"),
            "there is no CUDA code for cpu: give --target cuda",
        ),
        (
            ("tune", *PRODUCT, "--arch", "sm_90"),
            "arch is for GPUs, and the target is cpu: leave it out",
        ),
        (
            ("tune", *PRODUCT, "--target", "cuda", "--arch", "hopper"),
            "arch must be a name such as sm_90, not 'hopper'",
        ),
        (
            ("tune", *PRODUCT, *GPU, "--build-only", "--trials", 0),
            "budget: trials must be positive, not 0",
        ),
        (
            ("tune", *PRODUCT, *GPU, "--build-only", "--report", "page.html"),
            "--build-only measures nothing: leave out --peers, --report, --rpc and --cluster",
        ),
        (
            ("tune", "softmax", "--m", 4, "--n", 4, *GPU, "--build-only", *WITHOUT_ROWS),
            "no sketch can schedule softmax on cuda(arch=sm_90) without cuda_rows: allow one",
        ),
        (
            ("tune", *PRODUCT, *GPU, "--sketch", "cpu_gemm", "--build-only"),
            "sketch cpu_gemm cannot schedule matmul on cuda(arch=sm_90): take cuda_tiled",
        ),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    words: tuple[object, ...],
    complaint: str,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = command(*map(str, words))
    assert list(tmp_path.iterdir()) == [], "nothing is made of it"
    assert ran.complaint == complaint
    assert ran.code == 2
