"""nvcc's code and what ptxas says of it; how many blocks fit a multiprocessor."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from tests.compiled import needs_nvcc
from tunesmith.cuda.compiler import (
    Cubin,
    Resources,
    compile_cuda,
    has_nvcc,
    nvcc,
    resources_of,
    summary,
)
from tunesmith.cuda.lowering import Function, Launch
from tunesmith.errors import MissingDependencyError, TunesmithError

REPORT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    24 bytes stack frame, 20 bytes spill stores, 28 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 24 bytes cumulative stack size, 4096 bytes smem
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers
"""

SOURCE = """\
extern "C" __global__ void __launch_bounds__(128) twice(float* __restrict__ x) {
  __shared__ float tile[128];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[127 - threadIdx.x] = 2.0f * tile[threadIdx.x];
}
"""


def test_what_ptxas_says_of_each_function() -> None:
    assert resources_of(REPORT) == {
        "first": Resources(registers=255, spill_stores=20, spill_loads=28, shared_bytes=4096),
        "second": Resources(registers=40, spill_stores=0, spill_loads=0, shared_bytes=0),
    }


@pytest.mark.parametrize(
    ("resources", "threads", "arch", "share"),
    [
        # 64 warps of 32 registers fill all 65,536; eight blocks of 256 threads.
        (Resources(32, 0, 0, 0), 256, "sm_90", 1.0),
        # One register more takes units of 256 a warp: 40 a thread, 12 warps in each of four parts.
        (Resources(33, 0, 0, 0), 256, "sm_90", 6 * 256 / 2048),
        # 12 warps in each part are 48, or 16 blocks of three; all registers together had 51.
        (Resources(40, 0, 0, 0), 96, "sm_90", 16 * 96 / 2048),
        # 100 KiB and the system's 1 KiB: two blocks in 228 KiB.
        (Resources(32, 0, 0, 100 * 1024), 256, "sm_90", 2 * 256 / 2048),
        # Older ones keep nothing for the system: two blocks of 32 KiB in 64 KiB.
        (Resources(32, 0, 0, 32 * 1024), 256, "sm_75", 2 * 256 / 1024),
        # 32 blocks at the most, of one warp each.
        (Resources(16, 0, 0, 0), 32, "sm_90", 32 * 32 / 2048),
        # Of 1,536 threads one block of 1,024 leaves a third idle.
        (Resources(32, 0, 0, 0), 1024, "sm_86", 1024 / 1536),
        (Resources(32, 0, 0, 0), 256, "sm_90a", 1.0),
        (Resources(32, 0, 0, 0), 256, "sm_61", None),
    ],
)
def test_occupancy(resources: Resources, threads: int, arch: str, share: float | None) -> None:
    assert resources.occupancy(threads, arch) == share


def launches(**threads: int) -> dict[str, Function]:
    """A function with a launch of each of these, with so many threads a block."""
    made = (Launch(name, (8, 1, 1), (count, 1, 1), 0, ()) for name, count in threads.items())
    return {"main": Function(tuple(made))}


def test_a_program_takes_what_its_most_demanding_launch_takes() -> None:
    cubin = Cubin(b"", "", resources_of(REPORT))
    assert summary(cubin, launches(first=1024, second=64), "sm_90") == {
        "registers": 255,
        "spilled_bytes": 20,
        "shared_bytes": 4096,
        "threads": 1024,
        "occupancy": 0.0,  # 256 registers of 1,024 threads are four times what there is
    }


def test_shared_memory_is_declared_or_given_at_the_launch() -> None:
    launch = Launch("main", (8, 1, 1), (64, 1, 1), 100 * 1024, ())
    cubin = Cubin(b"", "", {"main": Resources(16, 0, 0, 1024)})
    found = summary(cubin, {"main": Function((launch,))}, "sm_90")
    assert found["shared_bytes"] == 101 * 1024
    assert found["occupancy"] == 2 * 64 / 2048  # there is room for two blocks


@needs_nvcc
def test_code_is_compiled() -> None:
    cubin = compile_cuda(SOURCE, "sm_90")
    assert cubin.code.startswith(b"\x7fELF")
    assert (
        summary(cubin, launches(twice=128), "sm_90").items()
        >= {
            "spilled_bytes": 0,
            "shared_bytes": 512,
            "threads": 128,
            "occupancy": 1.0,
        }.items()
    )


@needs_nvcc
def test_code_for_hopper_has_the_instructions_of_hopper() -> None:
    source = """
    extern "C" __global__ void kernel() {
      asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
    }
    """
    assert compile_cuda(source, "sm_90").resources.keys() == {"kernel"}
    with pytest.raises(TunesmithError, match=r"nvcc failed: .*wgmma"):
        compile_cuda(source, "sm_100")


@needs_nvcc
def test_code_that_is_none() -> None:
    with pytest.raises(TunesmithError, match=r"^nvcc failed: .*error: .*nothing.*$"):
        compile_cuda(SOURCE.replace("tile[threadIdx.x] =", "nothing ="), "sm_90")


def test_a_missing_compiler_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert not has_nvcc()
    with pytest.raises(MissingDependencyError, match=r"nvcc.*: install the CUDA toolkit"):
        nvcc()


@needs_nvcc
def test_nothing_is_left_of_a_compilation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    compile_cuda(SOURCE, "sm_90")
    assert list(tmp_path.iterdir()) == []
