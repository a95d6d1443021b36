"""Targets: what they are called, what they tell TVM, and what they refuse."""

from __future__ import annotations

import os
import pickle
import platform
import re
import subprocess
import sys

import pytest

from tunesmith.compiler.cores import usable_cores
from tunesmith.compiler.llvm import host_processor
from tunesmith.cuda import compiler, devices
from tunesmith.cuda.devices import GpuInfo
from tunesmith.errors import UsageError
from tunesmith.target import Target, instructions


@pytest.mark.parametrize(
    ("target", "key"),
    [
        (Target(), "cpu"),
        (Target("cpu", mcpu="znver4"), "cpu(mcpu=znver4)"),
        (Target(cores=2), "cpu(cores=2)"),
        (Target(mcpu="znver4", cores=2), "cpu(mcpu=znver4,cores=2)"),
        (Target("cuda"), "cuda"),
        (Target("cuda", arch="sm_90"), "cuda(arch=sm_90)"),
    ],
)
def test_the_key_holds_what_was_asked_for_and_nothing_of_the_machine(
    target: Target, key: str
) -> None:
    assert target.key == key


def test_a_target_is_given_by_its_kind_or_as_it_is() -> None:
    target = Target(cores=1)
    assert Target.of(target) is target
    assert Target.of("cpu") == Target()


def test_targets_are_values() -> None:
    assert Target(cores=2) == Target(cores=2) != Target()
    assert len({Target(), Target("cpu"), Target(cores=1)}) == 2
    assert pickle.loads(pickle.dumps(Target(mcpu="znver4"))) == Target(mcpu="znver4")


def test_cores_are_those_that_this_process_may_run_on_unless_given() -> None:
    assert Target(cores=3).core_count == 3
    assert Target().core_count == usable_cores()


def test_tvm_is_told_everything() -> None:
    described = Target(mcpu="x86-64-v3", cores=2).to_json()
    assert described["kind"] == "llvm"
    assert described["mcpu"] == "x86-64-v3"
    assert described["num-cores"] == 2
    assert Target().to_json()["mcpu"] == host_processor()
    assert str(Target(cores=2).to_tvm().attrs["mcpu"]) == host_processor()


def test_instruction_sets_tell_processors_apart() -> None:
    assert "avx512f" in instructions("cascadelake") - instructions("haswell")
    assert "avx2" in instructions("haswell") - instructions("x86-64")
    assert instructions("x86-64") <= instructions("haswell") <= instructions("cascadelake")
    assert "sse2" in instructions("x86-64")


@pytest.mark.parametrize("kind", ["rocm", "CPU", ""])
def test_an_unknown_kind_is_refused(kind: str) -> None:
    with pytest.raises(UsageError, match=rf"\Aunknown target '{kind}': .*cpu.*\Z"):
        Target(kind)
    with pytest.raises(UsageError, match="unknown target"):
        Target.of(kind)


@pytest.mark.parametrize("cores", [0, -1])
def test_fewer_than_one_core_is_refused(cores: int) -> None:
    with pytest.raises(UsageError, match=rf"\Aa target needs at least one core, not {cores}\Z"):
        Target(cores=cores)


def test_an_unknown_processor_is_refused_before_anything_is_compiled() -> None:
    with pytest.raises(UsageError, match=r"\Aunknown processor 'znver44': did you mean znver4"):
        Target(mcpu="znver44").to_tvm()


def test_a_target_needs_no_tvm_until_tvm_is_asked() -> None:
    program = (
        "import sys; from tunesmith.target import Target; Target(mcpu='znver4').key; "
        "print('tvm' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "False\n"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names of x86")
def test_processors_of_32_bits_are_refused() -> None:
    with pytest.raises(UsageError, match=r"\Aprocessor i486 runs no 64-bit code: .*\Z"):
        Target(mcpu="i486").lanes("float32")


# -- GPUs -----------------------------------------------------------------------------------------


def test_tvm_is_told_of_a_gpu_and_its_host() -> None:
    described = Target("cuda", arch="sm_90", mcpu="x86-64-v3").to_json()
    assert described["kind"] == "cuda"
    assert described["arch"] == "sm_90"
    assert described["host"]["mcpu"] == "x86-64-v3"
    target = Target("cuda", arch="sm_80").to_tvm()
    assert str(target.attrs["arch"]) == "sm_80"
    assert str(target.host.kind.name) == "llvm"


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100f", "sm_120"])
def test_names_of_instruction_sets_of_gpus(arch: str) -> None:
    assert Target("cuda", arch=arch).gpu_arch == arch


@pytest.mark.parametrize("arch", ["90", "sm_9", "sm_90x", "compute_90", "hopper", ""])
def test_what_is_no_instruction_set_of_a_gpu(arch: str) -> None:
    with pytest.raises(UsageError, match="arch must be a name such as sm_90, not"):
        Target("cuda", arch=arch)


def test_a_cpu_has_no_instruction_set_of_a_gpu() -> None:
    with pytest.raises(UsageError, match="arch is for GPUs, and the target is cpu: leave it out"):
        Target(arch="sm_90")


def test_programs_for_gpus_can_only_be_built_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Target().check_measurable()
    _see(monkeypatch, [])
    with pytest.raises(UsageError, match="no NVIDIA GPU"):
        Target("cuda", arch="sm_90").check_measurable()
    with pytest.raises(UsageError, match=r"no NVIDIA GPU.*; or name one.*--arch sm_90$"):
        _ = Target("cuda").gpu_arch


@pytest.mark.parametrize(
    ("gpu", "arch", "runs"),
    [
        ("sm_90", None, True),
        ("sm_90", "sm_90", True),
        ("sm_90", "sm_90a", True),
        ("sm_86", "sm_80", True),
        ("sm_80", "sm_86", False),
        ("sm_103", "sm_100a", False),
        ("sm_90", "sm_80", False),
        ("sm_120", "sm_90", False),
    ],
)
def test_a_gpu_runs_code_for_its_own_generation(
    monkeypatch: pytest.MonkeyPatch, gpu: str, arch: str | None, runs: bool
) -> None:
    _see(monkeypatch, [GpuInfo(0, "Some GPU", gpu, 1 << 30, 8, 1 << 20, "0000:01:00.0", 13000)])
    monkeypatch.setattr(compiler, "has_nvcc", lambda: True)
    monkeypatch.setattr(compiler, "nvcc_version", lambda: 12080)
    target = Target("cuda", arch=arch)
    if runs:
        target.check_measurable()
    else:
        with pytest.raises(UsageError, match=f"Some GPU.* does not run code for {arch}: leave out"):
            target.check_measurable()


def test_measuring_on_a_gpu_needs_its_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    _see(monkeypatch, [GpuInfo(0, "Some GPU", "sm_90", 1 << 30, 8, 1 << 20, "0000:01:00.0", 13000)])
    monkeypatch.setattr(compiler, "has_nvcc", lambda: False)
    with pytest.raises(UsageError, match="needs nvcc: install the CUDA toolkit"):
        Target("cuda").check_measurable()


def test_a_compiler_that_is_newer_than_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    _see(monkeypatch, [GpuInfo(0, "Some GPU", "sm_90", 1 << 30, 8, 1 << 20, "0000:01:00.0", 12040)])
    monkeypatch.setattr(compiler, "has_nvcc", lambda: True)
    monkeypatch.setattr(compiler, "nvcc_version", lambda: 13000)
    with pytest.raises(UsageError, match=r"nvcc is of CUDA 13\.0.* driver for 12\.4: update"):
        Target("cuda").check_measurable()


def _see(monkeypatch: pytest.MonkeyPatch, found: list[GpuInfo]) -> None:
    """Let this machine have these GPUs."""

    def gpus() -> tuple[GpuInfo, ...]:
        if not found:
            raise UsageError("no NVIDIA GPU can be used: none is there")
        return tuple(found)

    monkeypatch.setattr(devices, "gpus", gpus)


@pytest.mark.parametrize(
    "target",
    [Target("cpu", mcpu="x86-64-v3", cores=2), Target("cuda", arch="sm_90")],
    ids=lambda target: str(target.kind),
)
def test_a_record_of_a_target(target: Target) -> None:
    assert Target.from_json(target.to_json()) == target


def test_a_record_of_an_unknown_target() -> None:
    with pytest.raises(UsageError, match="target opencl is not known here"):
        Target.from_json({"kind": "opencl"})


# -- other platforms ------------------------------------------------------------------------------


def test_another_platform_has_its_own_processors_and_vectors() -> None:
    target = Target(mcpu="cortex-a72", cores=4, triple="aarch64-linux-gnu")
    assert target.key == "cpu(mcpu=cortex-a72,cores=4,triple=aarch64-linux-gnu)"
    assert target.architecture == "aarch64"
    assert target.instructions == {"neon"}
    assert target.lanes("float32") == 4
    described = target.to_json()
    assert (described["mtriple"], described["mcpu"]) == ("aarch64-linux-gnu", "cortex-a72")
    assert Target(triple="aarch64-linux-gnu").processor == "generic"


@pytest.mark.parametrize(
    ("mcpu", "bits"),
    [("neoverse-n1", 128), ("neoverse-v2", 128), ("neoverse-v1", 256), ("a64fx", 512)],
)
def test_sve_has_vectors_of_the_processors_length(mcpu: str, bits: int) -> None:
    target = Target(mcpu=mcpu, triple="aarch64-linux-gnu")
    assert target.lanes("float32") == bits // 32
    longer = {name for name in target.instructions if re.fullmatch(r"sve\d{3}", name)}
    assert longer == {f"sve{size}" for size in (256, 512) if size <= bits}
    options = [option for option in target.to_json()["cl-opt"] if "sve" in option]
    assert options == ([f"-aarch64-sve-vector-bits-min:uint={bits}"] if bits > 128 else [])


def test_a_processor_of_another_platform_is_unknown() -> None:
    with pytest.raises(UsageError, match="unknown processor 'haswell'"):
        _ = Target(mcpu="haswell", triple="aarch64-linux-gnu").processor
    with pytest.raises(UsageError, match="unknown platform 'aarch64'"):
        Target(triple="aarch64")
    with pytest.raises(UsageError, match=r"^triple is for CPUs, and the target is cuda"):
        Target("cuda", triple="aarch64-linux-gnu")


def test_what_runs_elsewhere_cannot_be_measured_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    Target(triple="x86_64-linux-gnu").check_measurable()
    with pytest.raises(UsageError, match=r"^this machine runs no code for aarch64-linux-gnu"):
        Target(triple="aarch64-linux-gnu").check_measurable()
