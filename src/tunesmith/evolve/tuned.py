"""A tuned kernel as what is evolved: the LLVM-IR that TVM made of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tunesmith.compiler.cores import usable_cores
from tunesmith.errors import UsageError
from tunesmith.evolve.llvm.kernel import LLVMKernel

if TYPE_CHECKING:
    from tunesmith.kernel.kernel import Kernel
    from tunesmith.operators import Operator

# What computes, behind the function that checks arguments; and what the threads of it do.
_COMPUTE = "main_compute_"
_ENTRY = "__tvm_ffi_main"
_THREADS = re.compile(r"@(__tvm_parallel_lambda[\w.]*)\(")
# LLVM gives it a convention of its own, and hides it; it returns nothing where it cannot fail.
_OWN_CALL = re.compile(rf"\b(?:internal )?fastcc (?=[^@\n]*@{_COMPUTE}\()")
# The bytes of an argument of the function that checks them.
_ARGUMENT = 16
# Functions of TVM's runtime are called through variables, which it sets as it loads a kernel.
_RUNTIME = re.compile(r"^@__(TVM\w+) = linkonce .*global ptr null.*$", re.MULTILINE)


def tuned_kernel(kernel: Kernel) -> tuple[LLVMKernel, list[tuple[Any, ...]]]:
    """A kernel for this machine's CPU, and two tests of it: inputs, and zeros for the output.

    Edited is the largest of the functions that compute, most often that of the threads. Raises
    ``UsageError`` for a kernel of a GPU, and one that needs its weights laid out beforehand.
    """
    if kernel.arch is not None:
        raise UsageError("only a kernel for a CPU can be evolved, and this is one for a GPU")
    text = kernel.source("ll")
    if f"@{_COMPUTE}(" not in text or "__tvm_ffi_prepare" in text:
        raise UsageError(
            "a kernel whose weights are laid out beforehand cannot be evolved: leave out "
            "--constant-weights"
        )
    text = _OWN_CALL.sub("", text)
    declared = "\n".join(f"declare i32 @{name}(...)" for name in _RUNTIME.findall(text))
    text = _RUNTIME.sub(r"@__\1 = internal constant ptr @\1", text)
    program = LLVMKernel(
        f"{text}\n{declared}\n",
        _COMPUTE,
        edited=_largest(text),
        libraries=_runtime(),
        name=kernel.operator.name,
        # What is right on one thread may leave out the parts of others.
        threads=usable_cores() if _THREADS.search(text) else 1,
    )
    order = _order(text)
    return program, [_given(kernel.operator, seed, order) for seed in (0, 1)]


def _order(text: str) -> list[int | None]:
    """Which of the arguments of the operator, and the output behind them, each parameter is: their
    order is the compiler's. None for the number of the device, for memory of intermediate results.
    """
    start = _definition(text, _ENTRY)
    body = text[start : text.index("\n}", start)]
    call = re.search(rf"@{_COMPUTE}\((.*)\)", body)
    assert call is not None, "it is called"
    made = dict(re.findall(r"^ *(%[\w.]+) = (.*)$", body, re.MULTILINE))
    return [
        _argument(each.split()[-1], made) if each.startswith("ptr") else None
        for each in call.group(1).split(", ")
    ]


def _argument(value: str, made: Mapping[str, str]) -> int:
    """The number of the argument that a value is read from, by what makes the values."""
    waiting, seen = [value], set[str]()
    while waiting:
        definition = made.get(waiting.pop(), "")
        place = re.search(r"%args, i64 (\d+)", definition)
        if place is not None:
            return int(place.group(1)) // _ARGUMENT
        new = [each for each in re.findall(r"%[\w.]+", definition) if each not in seen]
        seen.update(new)
        waiting += new
    return 0  # whose address is that of all


def _given(operator: Operator, seed: int, order: Sequence[int | None]) -> tuple[Any, ...]:
    """What a test gives the function: inputs, and zeros for the output."""
    inputs: list[Any] = [np.ascontiguousarray(each) for each in operator.make_inputs(seed)]
    arrays = [*inputs, np.zeros_like(operator.reference(*inputs))]
    return tuple(0 if number is None else arrays[number] for number in order)


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


def _runtime() -> tuple[str, ...]:
    """TVM's runtime, whose threads kernels use, after the library that it needs."""
    import tvm
    import tvm_ffi

    runtime = Path(str(tvm.__file__)).parent / "lib" / "libtvm_runtime.so"
    return str(tvm_ffi.libinfo.find_libtvm_ffi()), str(runtime)
