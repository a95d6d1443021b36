"""Other libraries keep to the instruction set that ours is compiled for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tunesmith.bench.peers import instruction_sets
from tunesmith.bench.peers.instruction_sets import (
    InstructionSet,
    held_to,
    instruction_set,
    numpy_switches,
)
from tunesmith.bench.peers.library_peers import library_peer, library_peers
from tunesmith.errors import UsageError
from tunesmith.operators import Operator, batch_matmul, conv2d, dense, softmax
from tunesmith.target import Target

AVX2 = Target(mcpu="haswell")
CONVOLUTION = conv2d(ci=16, h=8, w=8, co=16, kernel=3, constant_weights=True)


def name_of(mcpu: str) -> str | None:
    known = instruction_set(Target(mcpu=mcpu))
    return None if known is None else known.name


x86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="these are processors of x86")


@x86
def test_processors_have_an_instruction_set() -> None:
    names = [name_of(mcpu) for mcpu in ("znver4", "skylake", "haswell", "ivybridge", "nehalem")]
    assert names == ["AVX-512", "AVX2", "AVX2", "AVX", "SSE4.1"]
    with pytest.raises(UsageError, match=r"processor nocona has no SSE4.1"):
        instruction_set(Target(mcpu="nocona"))
    with pytest.raises(UsageError, match="unknown processor 'haswel'"):
        instruction_set(Target(mcpu="haswel"))


@x86
def test_only_what_this_machine_has_on_top_is_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def on(machine: str, mcpu: str | None) -> str | None:
        monkeypatch.setattr("tunesmith.compiler.llvm.host_processor", lambda: machine)
        held = held_to(Target(mcpu=mcpu))
        return None if held is None else held.name

    assert on("znver4", None) is None
    assert on("znver4", "haswell") == "AVX2"
    assert on("znver4", "skylake-avx512") is None
    assert on("znver3", "haswell") is None
    assert on("znver3", "ivybridge") == "AVX"
    with pytest.raises(UsageError, match="cannot run programs for znver4: it has AVX2 at most"):
        on("znver3", "znver4")


def test_numpy_loses_all_versions_of_its_loops_that_are_beyond(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    versions = ["X86_V3", "X86_V4", "AVX512_ICL"]
    monkeypatch.setattr("numpy._core._multiarray_umath.__cpu_dispatch__", versions)
    avx2, avx = (kind for kind in instruction_sets._KNOWN if kind.name in ("AVX2", "AVX"))
    assert numpy_switches(avx2)["NPY_DISABLE_CPU_FEATURES"] == "X86_V4,AVX512_ICL"
    assert numpy_switches(avx)["NPY_DISABLE_CPU_FEATURES"] == "X86_V3,X86_V4,AVX512_ICL"


PRODUCT = dense(m=4, k=8, n=8, constant_weights=True)
# What switches do not hold.
HIDDEN = [("onnxruntime", CONVOLUTION), ("onnxruntime", PRODUCT), ("openvino", PRODUCT)]


@pytest.fixture(name="avx2")
def _avx2() -> InstructionSet:
    (avx2,) = (kind for kind in instruction_sets._KNOWN if kind.name == "AVX2")
    return avx2


def can_hide(monkeypatch: pytest.MonkeyPatch, reason: str | None) -> None:
    monkeypatch.setattr(
        "tunesmith.bench.peers.library_peers.why_nothing_can_be_hidden", lambda: reason
    )


def test_each_peer_says_how_it_is_held(
    avx2: InstructionSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    can_hide(monkeypatch, None)
    for name, peer in library_peers().items():
        assert peer.how_held(CONVOLUTION, None) is None
        assert peer.side(CONVOLUTION, 2)["environment"] == {}
        assert peer.side(CONVOLUTION, 2)["hide_beyond"] is None
        for operator in (CONVOLUTION, PRODUCT):
            held, side = peer.how_held(operator, avx2), peer.side(operator, 2, avx2)
            assert held is not None
            assert held.kept
            if (name, operator) in HIDDEN:
                assert "by hiding newer instructions" in held.how
                assert all(switch in held.how for switch in side["environment"])
                assert side["hide_beyond"] == "AVX2"
            else:
                assert side["environment"]
                assert all(f"{name}={to}" in held.how for name, to in side["environment"].items())
                assert side["hide_beyond"] is None


@pytest.mark.parametrize(("name", "operator"), HIDDEN)
def test_where_nothing_can_be_hidden_a_peer_says_so(
    name: str, operator: Operator, avx2: InstructionSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    can_hide(monkeypatch, "this processor hides no instructions")
    peer = library_peer(name)
    held = peer.how_held(operator, avx2)
    assert held is not None
    assert not held.kept
    assert held.how.startswith("not held to AVX2: ")
    assert held.how.endswith(", and this processor hides no instructions")
    assert peer.side(operator, 2, avx2)["hide_beyond"] is None


# --- Whether the switches work: each in a process that would otherwise use AVX-512


def said_by(peer: str, code: str, **environment: str) -> str:
    """What a process prints that is held to AVX2 as the peer's would be."""
    library = library_peer(peer)
    missing = library.missing()
    if missing is not None:
        pytest.skip(f"{library.title} is {missing}")
    held = held_to(AVX2) if os.uname().machine == "x86_64" else None
    if held is None:
        pytest.skip("this machine has no more than AVX2: nothing needs holding")
    switches = library.side(CONVOLUTION, 1, held)["environment"]
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **switches, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_pytorch_is_held() -> None:
    code = "import torch; print(torch.backends.cpu.get_cpu_capability())"
    assert said_by("pytorch", code) == "AVX2\n"


def test_onednn_is_held() -> None:
    code = "import torch as t; t.conv2d(t.rand(1, 64, 28, 28), t.rand(64, 64, 3, 3))"
    said = said_by("onednn", code, ONEDNN_VERBOSE="1")
    assert "cpu,isa:Intel AVX2\n" in said
    assert "avx512" not in said


def test_mkl_is_held() -> None:
    code = "import torch as t; t.mm(t.rand(64, 64), t.rand(64, 64))"
    (told,) = [
        line
        for line in said_by("pytorch", code, MKL_VERBOSE="1").splitlines()
        if "Product build" in line
    ] or [""]
    if "Advanced Vector Extensions" not in told:
        pytest.skip("MKL says what it uses on Intel's processors alone")
    assert "AVX-512" not in told


@pytest.mark.slow
def test_torch_compile_is_held() -> None:
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    code = (
        "from torch._inductor import config, cpu_vec_isa;"
        "print(cpu_vec_isa.pick_vec_isa(), config.cpp.march)"
    )
    assert said_by("torch-compile", code) == "avx2 x86-64-v3\n"


def test_numpy_and_openblas_are_held() -> None:
    code = (
        "import numpy, threadpoolctl\n"
        "from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__\n"
        "print([name for name in __cpu_dispatch__ if __cpu_features__[name]],"
        " [pool['architecture'] for pool in threadpoolctl.threadpool_info()"
        " if pool['internal_api'] == 'openblas'])"
    )
    versions, _, kernels = said_by("numpy", code).partition("] ")
    assert "AVX512" not in versions
    assert "X86_V4" not in versions
    assert kernels in ("['Haswell']\n", "[]\n")


@pytest.mark.parametrize(
    "operator",
    [CONVOLUTION, softmax(m=4, n=64), batch_matmul(b=2, m=16, n=16, k=16)],
    ids=lambda operator: operator.name,
)
def test_openvino_is_held(operator: object) -> None:
    code = (
        "from tunesmith.bench.peers.openvino_operators import compiled_model\n"
        "from tunesmith.operators import operator_from_json\n"
        f"operator = operator_from_json({operator.to_json()!r})\n"  # type: ignore[attr-defined]
        "compiled, _ = compiled_model(operator, operator.make_inputs(seed=0), 1)\n"
        # What OpenVINO says it computes with, such as brgconv_avx2_f32, a name a step.
        "for step in compiled.get_runtime_model().get_ordered_ops():\n"
        "    print(step.get_rt_info()['primitiveType'].astype(str))"
    )
    said = said_by("openvino", code)
    assert "avx2" in said
    assert "avx512" not in said
    assert "mlas" not in said
