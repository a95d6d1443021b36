"""Builds TVM executables that contain machine code for a GPU.

TVM's modules contain CUDA C++, or a placeholder if TVM's runtime for GPUs is loaded. nvcc compiles
all modules of an executable at a time, and its code replaces their content when a library is
written. So machines without a GPU can write libraries, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tunesmith.compiler.cores import usable_cores
from tunesmith.cuda.compiler import compile_cuda, nvcc
from tunesmith.cuda.devices import gpu_for
from tunesmith.cuda.lowering import WITHOUT_FUNCTION, compiling_by
from tunesmith.cuda.runtime import load_runtime
from tunesmith.errors import TunesmithError

# In TVM's packed libraries: the kind of a CUDA module, which also is its format of CUDA C++, and
# the format of machine code.
_CUDA, _CUBIN = b"cuda", b"cubin"

# TVM's length prefix.
_SIZE = struct.Struct("<Q")


def gpu_executable(compiled: Callable[[], Any], arch: str) -> GpuExecutable:
    """The executable that ``compiled`` makes with TVM, its CUDA code compiled for ``arch``.

    Raises what ``compiled`` raises, ``TunesmithError`` if nvcc fails and for a program without a
    GPU function, and ``MissingDependencyError`` without nvcc.
    """
    nvcc()
    with without_compiling():
        executable = compiled()
    sources = [str(module.inspect_source("cuda")) for module in _cuda_modules(executable.mod)]
    if not sources:
        raise TunesmithError(WITHOUT_FUNCTION)
    with ThreadPoolExecutor(usable_cores()) as pool:  # each waits for an nvcc
        compiled_sources = pool.map(lambda source: compile_cuda(source, arch).code, sources)
        return GpuExecutable(executable, arch, dict(zip(sources, compiled_sources, strict=True)))


def without_compiling() -> contextlib.AbstractContextManager[None]:
    """Within the block TVM leaves it to ``gpu_executable`` to compile the CUDA C++ of modules."""
    return compiling_by(_placeholder)


def _placeholder(source: str) -> bytes:
    return hashlib.sha256(source.encode()).hexdigest().encode()


def _cuda_modules(module: Any) -> Iterator[Any]:
    """The CUDA modules among those that a module imports, directly or not."""
    for imported in module.imports:
        if imported.kind == "cuda":
            yield imported
        yield from _cuda_modules(imported)


def takes_memory(executable: Any) -> bool:
    """Whether its functions need a workspace: GPU memory that their launches share."""
    return "TVMBackendAllocWorkspace" in executable.mod.inspect_source("ll")


@dataclass(frozen=True)
class GpuExecutable:
    """A TVM executable whose CUDA modules nvcc has compiled: ``codes`` has the machine code of each
    one's CUDA C++."""

    executable: Any
    arch: str
    codes: Mapping[str, bytes]

    @property
    def mod(self) -> Any:
        """TVM's module."""
        return self.executable.mod

    def __getitem__(self, name: str) -> Any:
        """A function. Raises like ``gpu_for`` and ``load_runtime`` where it cannot be called."""
        gpu_for(self.arch)
        load_runtime()
        return self.library[name]

    @cached_property
    def library(self) -> Any:
        """TVM's module, loaded from a library: it can be called once TVM's runtime is loaded."""
        import tvm_ffi

        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder, "loaded.so")
            self.export_library(str(library))
            return tvm_ffi.load_module(library)

    def export_library(self, path: str, **options: Any) -> None:
        """Write the shared library, with TVM's options. Raises what TVM raises."""
        self.executable.mod.export_library(path, fpack_imports=self._packed, **options)

    def _packed(self, module: Any, _system: bool, prefix: str, folder: str) -> str:
        """Write the object file with the library's imported modules, and return its path."""
        import tvm

        blob = tvm.get_global_func("runtime.ModulePackImportsToTensor")(module).numpy().tobytes()
        for source, code in self.codes.items():
            blob = with_machine_code(blob, [source.encode(), _placeholder(source)], code)
        packed = tvm.get_global_func("codegen.codegen_blob")(blob, False, _host(module), prefix)
        path = str(Path(folder, "devc.o"))
        packed.write_to_file(path)
        return path


def _host(module: Any) -> str:
    """The target of a module's code for the CPU, as text: of the first one that has any."""
    if module.kind == "llvm":
        return str(module.get_function("_get_target_string")())
    return next(filter(None, map(_host, module.imports)), "")


def with_machine_code(blob: bytes, contents: Sequence[bytes], code: bytes) -> bytes:
    """A library's packed modules, with machine code in one of the CUDA modules.

    It is the one that contains one of ``contents``: CUDA C++, or a placeholder. ``blob`` starts
    with its size. A GPU's module is its kind, its size and its content: the format of the code, the
    functions, the code (tvm_ffi's ``library_module.cc``, TVM's ``cuda_module.cc``). Raises
    ``TunesmithError`` if the layout differs.
    """
    kind = _sized(_CUDA)
    for content in contents:
        old = _sized(content)
        end = blob.find(old) + len(old)
        start = blob.find(kind)
        while 0 <= start < end - len(old):
            begin = start + len(kind) + _SIZE.size
            packed = blob[begin:end]
            form = next((form for form in (_CUDA, _CUBIN) if packed.startswith(_sized(form))), None)
            if form is not None and blob[begin - _SIZE.size : begin] == _SIZE.pack(len(packed)):
                functions = packed[len(_sized(form)) : -len(old)]
                made = _sized(_sized(_CUBIN) + functions + _sized(code))
                return _sized(blob[_SIZE.size : begin - _SIZE.size] + made + blob[end:])
            start = blob.find(kind, start + 1)
    raise TunesmithError("this version of TVM packs libraries in a way that is not known")


def _sized(text: bytes) -> bytes:
    return _SIZE.pack(len(text)) + text
