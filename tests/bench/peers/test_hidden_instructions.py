"""Instructions are hidden from a process, to which the machine is then an older one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.patience import PATIENCE
from tunesmith.bench.peers.hidden_instructions import why_nothing_can_be_hidden
from tunesmith.bench.peers.instruction_sets import instruction_set
from tunesmith.bench.peers.library_peers import library_peer
from tunesmith.target import Target

HIDE = (
    "from tunesmith.bench.peers.hidden_instructions import hide_beyond\n"
    "times = hide_beyond('AVX2')\n"
)


def run(code: str) -> subprocess.CompletedProcess[str]:
    reason = why_nothing_can_be_hidden()
    if reason is not None:
        pytest.skip(reason)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def said_by(code: str) -> str:
    ran = run(code)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def skip_without_avx512() -> None:
    known = instruction_set(Target())
    if known is None or known.name != "AVX-512":
        pytest.skip("this processor has no AVX-512 to hide")


def test_a_library_finds_an_older_processor() -> None:
    skip_without_avx512()
    code = (
        "from numpy._core._multiarray_umath import __cpu_features__ as has\n"
        "print(has['AVX512F'], has['AVX2'], has['FMA3'])"
    )
    assert said_by(code) == "True True True\n"
    assert said_by(HIDE + code) == "False True True\n"


def test_threads_find_the_same() -> None:
    skip_without_avx512()
    code = (
        "import concurrent.futures as f\n"
        "def ask():\n"
        "    from numpy._core._multiarray_umath import __cpu_features__ as has\n"
        "    return has['AVX512F'], has['AVX2']\n"
        "print(f.ThreadPoolExecutor(1).submit(ask).result())"
    )
    assert said_by(HIDE + code) == "(False, True)\n"


def test_onnx_runtime_asks_when_it_is_loaded_and_not_in_calls() -> None:
    skip_without_avx512()
    peer = library_peer("onnxruntime")
    missing = peer.missing()
    if missing is not None:
        pytest.skip(f"{peer.title} is {missing}")
    code = (
        "import numpy, onnx\n"
        "from tunesmith.bench.peers.onnx_operators import onnxruntime_call\n"
        "from tunesmith.operators import matmul\n"
        "operator, before = matmul(m=64, n=64, k=64), times()\n"
        "call = onnxruntime_call(operator, operator.make_inputs(seed=0), 1)\n"
        "call(); prepared = times()\n"
        "for _ in range(100): call()\n"
        "print(prepared > before, times() - prepared)"
    )
    assert said_by(HIDE + code) == "True 0\n"


# Puts a function into memory that asks for leaf 1 with a given ecx, and returns ecx of the answer.
ASK_LEAF_1 = (
    "import ctypes, mmap\n"
    # push rbx; mov ecx, edi; mov eax, 1; cpuid; mov eax, ecx; pop rbx; ret
    "code = bytes.fromhex('53 89f9 b801000000 0fa2 89c8 5b c3')\n"
    "page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\n"
    "page.write(code)\n"
    "at = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
    "ask = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32)(at)\n"
    "print([ask(ecx) >> 28 & 1 for ecx in (0, 77)])"
)


def test_a_leaf_without_subleaves_is_hidden_whatever_ecx_holds() -> None:
    known = instruction_set(Target())
    if known is None or known.name == "SSE4.1":
        pytest.skip("this processor has no AVX to hide")
    assert said_by(ASK_LEAF_1) == "[1, 1]\n"
    assert said_by(HIDE.replace("AVX2", "SSE4.1") + ASK_LEAF_1) == "[0, 0]\n"


def test_a_real_fault_still_ends_the_process() -> None:
    ran = run(HIDE + "import ctypes; ctypes.string_at(0)")
    assert ran.returncode == -11
