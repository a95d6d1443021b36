"""A tuned kernel as what is evolved: the LLVM-IR that TVM made of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.evolve.llvm.kernel import LLVMKernel

if TYPE_CHECKING:
    from tunesmith.kernel.kernel import Kernel

# What computes, behind the function that checks arguments; and what the threads of it do.
_COMPUTE = "main_compute_"
_THREADS = re.compile(r"@(__tvm_parallel_lambda[\w.]*)\(")
# Functions of TVM's runtime are called through variables, which it sets as it loads a kernel.
_RUNTIME = re.compile(r"^@__(TVM\w+) = linkonce .*global ptr null.*$", re.MULTILINE)


def tuned_kernel(kernel: Kernel) -> tuple[LLVMKernel, list[tuple[Any, ...]]]:
    """A kernel for this machine's CPU, and two tests of it: inputs, and zeros for the output.

    Edited is the largest function: that of the threads, where there are some. Raises ``UsageError``
    for a kernel of a GPU, and one that needs its weights laid out beforehand.
    """
    if kernel.arch is not None:
        raise UsageError("only a kernel for a CPU can be evolved, and this is one for a GPU")
    text = kernel.source("ll")
    if f"@{_COMPUTE}(" not in text or "__tvm_ffi_prepare" in text:
        raise UsageError(
            "a kernel whose weights are laid out beforehand cannot be evolved: leave out "
            "--constant-weights"
        )
    text = text.replace("fastcc i32 @main_compute_", "i32 @main_compute_")
    text = text.replace(f"define internal i32 @{_COMPUTE}", f"define i32 @{_COMPUTE}")
    declared = "\n".join(f"declare i32 @{name}(...)" for name in _RUNTIME.findall(text))
    text = _RUNTIME.sub(r"@__\1 = internal constant ptr @\1", text)
    program = LLVMKernel(
        f"{text}\n{declared}\n",
        _COMPUTE,
        edited=_largest(text),
        libraries=_runtime(),
        name=kernel.operator.name,
    )
    # The number of the device, where memory for intermediate results is allocated.
    first = (0,) if f"@{_COMPUTE}(i32 %dev_id" in text else ()
    return program, [(*first, *_arguments(kernel, seed)) for seed in (0, 1)]


def _largest(text: str) -> str:
    """The name of the largest of the functions that compute."""
    names: set[str] = {_COMPUTE, *_THREADS.findall(text)}

    def size(name: str) -> int:
        start = text.find("\n", text.index(f"@{name}(", _definition(text, name)))
        return text.index("\n}", start) - start

    return max(sorted(names), key=size)


def _definition(text: str, name: str) -> int:
    """Where the line that defines a function begins."""
    found = re.search(rf"^define [^\n]*@{re.escape(name)}\(", text, re.MULTILINE)
    assert found is not None, f"{name} is defined"
    return found.start()


def _arguments(kernel: Kernel, seed: int) -> tuple[Any, ...]:
    inputs: Sequence[Any] = [
        np.ascontiguousarray(each) for each in kernel.operator.make_inputs(seed)
    ]
    output = kernel.operator.reference(*inputs)
    return (*inputs, np.zeros_like(output))


def _runtime() -> tuple[str, ...]:
    """TVM's runtime, whose threads kernels use, after the library that it needs."""
    import tvm
    import tvm_ffi

    runtime = Path(str(tvm.__file__)).parent / "lib" / "libtvm_runtime.so"
    return str(tvm_ffi.libinfo.find_libtvm_ffi()), str(runtime)
