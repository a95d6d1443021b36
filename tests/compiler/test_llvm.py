"""What LLVM knows of processors: the same through the C interface as through TVM's own modules."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tunesmith.compiler import llvm

_IMPORTS = """
import sys
from tunesmith.target import Target
assert Target().lanes("float32") >= 4 and Target("cpu", "haswell").instructions
print(sorted({"tvm", "tvm_ffi", "torch"} & sys.modules.keys()))
import tvm
print(tvm.target.codegen.llvm_get_system_cpu() == Target().processor)
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

    assert llvm.host_processor() == str(codegen.llvm_get_system_cpu())
    host = tvm.target.Target({"kind": "llvm", "mcpu": llvm.host_processor()})
    assert llvm.processors() == set(map(str, codegen.llvm_get_cpu_archlist(host)))


def test_tvm_is_not_imported_for_it_but_can_be_later() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _IMPORTS], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split("\n")[:2] == ["[]", "True"]
