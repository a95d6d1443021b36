"""Builds a TVM executable that contains machine code for a GPU.

If TVM's runtime for GPUs is loaded, TVM embeds the machine code itself. If not, TVM embeds the CUDA
C++, and we replace it by machine code when a library is written. So machines without a GPU can
write libraries, too.
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

# In TVM's packed libraries: the kind of a CUDA module, which also is its format of CUDA C++, and
# the format of machine code.
_CUDA, _CUBIN = b"cuda", b"cubin"

# TVM's length prefix.
_SIZE = struct.Struct("<Q")


def gpu_executable(compiled: Callable[[], Any], arch: str) -> Any:
    """The executable that ``compiled`` makes with TVM, its CUDA code compiled for ``arch``.

    Raises what ``compiled`` raises, ``TunesmithError`` if nvcc fails and for a program without a
    GPU function, and ``MissingDependencyError`` without nvcc.
    """
    nvcc()
    with contextlib.suppress(UsageError, MissingDependencyError):  # calls will report the reason
        load_runtime()
    failures: list[TunesmithError] = []

    def compile(source: str) -> bytes:
        try:
            return compile_cuda(source, arch).code
        except TunesmithError as error:
            failures.append(error)  # TVM turns it into an error of its own
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
    """Whether its functions need a workspace: GPU memory that their launches share."""
    return "TVMBackendAllocWorkspace" in executable.mod.inspect_source("ll")


@dataclass(frozen=True)
class UnloadableExecutable:
    """A TVM executable that cannot be called here, with its CUDA C++ and its machine code."""

    executable: Any
    source: str
    code: bytes
    arch: str

    @property
    def mod(self) -> Any:
        """TVM's module."""
        return self.executable.mod

    def __getitem__(self, name: str) -> Any:
        """Raises ``UsageError`` or ``MissingDependencyError`` with the reason."""
        gpu_for(self.arch)
        load_runtime()
        raise UsageError("the kernel was built before a GPU could be used: build it again")

    def export_library(self, path: str) -> None:
        """Write the shared library. Raises what TVM raises."""
        self.executable.export_library(path, fpack_imports=self._packed)

    def _packed(self, module: Any, _system: bool, prefix: str, folder: str) -> str:
        """Write the object file with the library's imported modules, and return its path."""
        import tvm

        blob = tvm.get_global_func("runtime.ModulePackImportsToTensor")(module).numpy().tobytes()
        blob = with_machine_code(blob, self.source.encode(), self.code)
        host = module.get_function("_get_target_string")()
        packed = tvm.get_global_func("codegen.codegen_blob")(blob, False, host, prefix)
        path = str(Path(folder, "devc.o"))
        packed.write_to_file(path)
        return path


def with_machine_code(blob: bytes, source: bytes, code: bytes) -> bytes:
    """A library's packed modules, with machine code instead of CUDA C++.

    ``blob`` starts with its size. The GPU's module is last, as its kind, its size and its content:
    the format of the code, the functions, the code (tvm_ffi's ``library_module.cc``, TVM's
    ``cuda_module.cc``). Raises ``TunesmithError`` if the layout differs.
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
