"""From a program to an executable of TVM with machine code for a GPU inside.

Where TVM's runtime for GPUs is loaded, it takes the machine code in by itself. Elsewhere it keeps
the CUDA C++, for it would know no use for anything else; then the machine code is put in its place
when a library is written. So libraries are made on machines without a GPU, too.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunesmith.cuda.compiler import compile_cuda, nvcc
from tunesmith.cuda.devices import gpu_for
from tunesmith.cuda.lowering import WITHOUT_FUNCTION, compiling_by
from tunesmith.cuda.runtime import has_runtime, load_runtime
from tunesmith.errors import MissingDependencyError, TunesmithError, UsageError

# What TVM calls the kind of a module of CUDA code and one form of its code, and the other form.
_CUDA, _CUBIN = b"cuda", b"cubin"

# What TVM writes before all that has a length.
_SIZE = struct.Struct("<Q")


def gpu_executable(compiled: Callable[[], Any], arch: str) -> Any:
    """What TVM makes of a program, which ``compiled`` gives, by nvcc for ``arch``.

    Raises what ``compiled`` raises, ``TunesmithError`` where nvcc fails and for a program that has
    nothing for the GPU, and ``MissingDependencyError`` without nvcc.
    """
    nvcc()
    with contextlib.suppress(UsageError, MissingDependencyError):  # calls will say why not
        load_runtime()
    failures: list[TunesmithError] = []

    def compile(source: str) -> bytes:
        try:
            return compile_cuda(source, arch).code
        except TunesmithError as error:
            failures.append(error)  # which on its way through TVM would become another one
            raise

    try:
        with compiling_by(compile):
            executable = compiled()
    except Exception as error:
        if failures:
            raise failures[0] from error
        raise
    if not executable.mod.imports:
        raise TunesmithError(WITHOUT_FUNCTION)
    if has_runtime():
        return executable
    source = str(executable.mod.imports[0].inspect_source())
    return UnloadableExecutable(executable, source, compile(source), arch)


def takes_memory(executable: Any) -> bool:
    """Whether its functions take memory of the GPU for what is between their launches."""
    return "TVMBackendAllocWorkspace" in executable.mod.inspect_source("ll")


@dataclass(frozen=True)
class UnloadableExecutable:
    """An executable of TVM that cannot be called here, and its machine code beside it."""

    executable: Any
    source: str
    code: bytes
    arch: str

    @property
    def mod(self) -> Any:
        """TVM's module."""
        return self.executable.mod

    def __getitem__(self, name: str) -> Any:
        """Raises ``UsageError`` or ``MissingDependencyError``: why there is no such function."""
        gpu_for(self.arch)
        load_runtime()
        raise UsageError("the kernel was built before a GPU could be used: build it again")

    def export_library(self, path: str) -> None:
        """Write the shared library. Raises what TVM raises."""
        self.executable.export_library(path, fpack_imports=self._packed)

    def _packed(self, module: Any, _system: bool, prefix: str, folder: str) -> str:
        """An object file with what the library has beside the functions of the processor."""
        import tvm

        blob = tvm.get_global_func("runtime.ModulePackImportsToTensor")(module).numpy().tobytes()
        blob = with_machine_code(blob, self.source.encode(), self.code)
        host = module.get_function("_get_target_string")()
        packed = tvm.get_global_func("codegen.codegen_blob")(blob, False, host, prefix)
        path = str(Path(folder, "devc.o"))
        packed.write_to_file(path)
        return path


def with_machine_code(blob: bytes, source: bytes, code: bytes) -> bytes:
    """What TVM packs of a library's modules, with machine code in place of CUDA C++.

    The size comes first. The last module is that of the GPU, as its kind, its size and its content:
    the form of the code, the functions, the code. (tvm_ffi's ``library_module.cc`` and TVM's
    ``cuda_module.cc``.) Raises ``TunesmithError`` for another blob.
    """
    kind, old = _sized(_CUDA), _sized(source)
    start = blob.find(kind) + len(kind)
    content = blob[start + _SIZE.size :]
    if blob[start:] != _sized(content) or not (
        content.startswith(_sized(_CUDA)) and content.endswith(old)
    ):
        raise TunesmithError("this version of TVM packs libraries in a way that is not known")
    functions = content[len(_sized(_CUDA)) : -len(old)]
    packed = blob[_SIZE.size : start] + _sized(_sized(_CUBIN) + functions + _sized(code))
    return _sized(packed)


def _sized(text: bytes) -> bytes:
    return _SIZE.pack(len(text)) + text
