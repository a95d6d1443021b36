"""What LLVM knows of processors: the same through the C interface as through TVM's own modules."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tunesmith.compiler import llvm

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


@pytest.mark.skipif(platform.machine() != "x86_64", reason="LLVM's list of features is of x86")
def test_missing_instructions_are_those_that_the_system_does_not_tell() -> None:
    """The system's names are without dots and dashes, and some are others altogether."""
    (flags,) = re.findall(r"^flags\s*:(.*)", Path("/proc/cpuinfo").read_text(), re.M)[:1]
    here = {flag.replace("_", "") for flag in flags.split()}
    missing = llvm.missing_instructions()
    for name in ("avx", "avx2", "fma", "f16c", "avx512f", "avx512vl", "amx-tile", "gfni", "sse4.1"):
        assert (name in missing) == (re.sub(r"[.-]", "", name) not in here), name


@pytest.fixture
def anew() -> Iterator[None]:
    """This machine's processor is asked for again, before the test and after it."""
    llvm.host_processor.cache_clear()
    yield
    llvm.host_processor.cache_clear()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the processors are of x86")
@pytest.mark.usefixtures("anew")
@pytest.mark.parametrize(
    ("named", "hidden", "expected"),
    [
        ("znver4", [], "znver4"),
        ("znver4", ["avx512", "gfni"], "znver3"),
        ("znver5", ["avx512", "gfni", "avxvnni"], "znver3"),
        ("cascadelake", ["avx512"], "skylake"),
        ("sapphirerapids", ["amx"], "icelake-server"),
        ("haswell", ["fxsr", "xsave"], "haswell"),  # which kernels do not use
    ],
)
def test_instructions_that_a_virtual_machine_hides(
    monkeypatch: pytest.MonkeyPatch, named: str, hidden: list[str], expected: str
) -> None:
    missing = {name for name in llvm.features(named) if name.startswith(tuple(hidden))}
    kernels = {name for name in missing if llvm._VECTORS_AND_BITS.match(name)}
    monkeypatch.setattr(llvm, "named_processor", lambda: named)
    monkeypatch.setattr(llvm, "missing_instructions", lambda: frozenset(kernels))
    found = llvm.host_processor()
    assert not kernels & llvm.features(found)
    assert found == expected


def test_this_machine_runs_code_for_its_processor() -> None:
    assert not llvm.missing_instructions() & llvm.features(llvm.host_processor())
