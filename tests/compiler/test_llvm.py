"""What LLVM knows of processors: the same through the C interface as through TVM's own modules."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tunesmith.compiler import llvm
from tunesmith.target import Target, host_instructions, instructions

_IMPORTS = """
import sys
from tunesmith.target import Target
assert Target().lanes("float32") >= 4 and Target("cpu", "haswell").instructions
print(sorted({"tvm", "tvm_ffi", "torch"} & sys.modules.keys()))
import tvm
from tunesmith.compiler.llvm import named_processor
print(tvm.target.codegen.llvm_get_system_cpu() == named_processor())
"""


@pytest.mark.parametrize("processor", ["haswell", "znver4", "cascadelake"])
def test_features_are_those_that_tvm_tells(processor: str) -> None:
    import tvm
    from tvm.target import codegen

    target = tvm.target.Target({"kind": "llvm", "mcpu": processor})
    assert llvm.features(processor) == set(map(str, codegen.llvm_get_cpu_features(target)))


def test_processors_are_those_that_tvm_tells() -> None:
    import tvm
    from tvm.target import codegen

    assert llvm.named_processor() == str(codegen.llvm_get_system_cpu())
    host = tvm.target.Target({"kind": "llvm", "mcpu": llvm.host_processor()})
    assert llvm.processors() == set(map(str, codegen.llvm_get_cpu_archlist(host)))


def test_tvm_is_not_imported_for_it_but_can_be_later() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _IMPORTS], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split("\n")[:2] == ["[]", "True"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the names are of x86")
def test_known_features_are_those_that_the_system_tells() -> None:
    """The system's names are without dots and dashes, and some are others altogether."""
    (flags,) = re.findall(r"^flags\s*:(.*)", Path("/proc/cpuinfo").read_text(), re.M)[:1]
    here = {flag.replace("_", "") for flag in flags.split()}
    known = llvm.known_features()
    for name in ("avx", "avx2", "fma", "f16c", "avx512f", "avx512vl", "amx-tile", "gfni", "sse4.1"):
        assert known[name] == (re.sub(r"[.-]", "", name) in here), name


def machine(monkeypatch: pytest.MonkeyPatch, named: str, hidden: Sequence[str]) -> frozenset[str]:
    """One that hides the features that begin so, of all that there are, and has the others of its
    processor; returns its own features."""
    usual = llvm.features(named)
    told = {
        one: one in usual and not one.startswith(tuple(hidden)) for one in llvm.known_features()
    }
    monkeypatch.setattr(llvm, "named_processor", lambda: named)
    monkeypatch.setattr(llvm, "known_features", lambda: told)
    return usual


@pytest.fixture
def anew() -> Iterator[None]:
    """This machine's processor is asked for again, before the test and after it."""
    cached = llvm.host_processor, llvm.host_features
    for each in cached:
        each.cache_clear()
    yield
    for each in cached:
        each.cache_clear()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the processors are of x86")
@pytest.mark.usefixtures("anew")
@pytest.mark.parametrize(
    ("named", "hidden", "expected"),
    [
        ("znver4", [], "znver4"),
        ("znver4", ["avx512", "gfni"], "znver3"),
        ("znver5", ["avx512", "gfni", "avxvnni"], "znver3"),
        ("cascadelake", ["avx512"], "skylake"),
        ("sapphirerapids", ["amx"], "sapphirerapids"),  # which no program of ours uses
        ("haswell", ["fxsr", "xsave"], "haswell"),
        ("core2", ["sse3", "ssse3"], "x86-64"),  # not pentium-m, which has 32 bits
    ],
)
def test_instructions_that_a_virtual_machine_hides(
    monkeypatch: pytest.MonkeyPatch, named: str, hidden: list[str], expected: str
) -> None:
    machine(monkeypatch, named, hidden)
    assert llvm.host_processor() == expected
    assert llvm.runs_64_bit_code(expected)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the processors are of x86")
@pytest.mark.usefixtures("anew")
def test_a_machine_has_more_than_the_processor_whose_code_runs_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = machine(monkeypatch, "znver4", ["gfni"])
    assert llvm.host_features() == usual - {"gfni"}
    assert "avx512f" not in llvm.features(llvm.host_processor())
    assert instructions("znver4") <= host_instructions()


def test_this_machine_runs_code_for_its_processor() -> None:
    assert Target().instructions <= host_instructions()
    told = llvm.known_features()
    vectors = {one for one in llvm.features(llvm.host_processor()) if "avx" in one or "sve" in one}
    assert all(told.get(one, True) for one in vectors)
