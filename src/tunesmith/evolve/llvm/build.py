"""LLVM-IR made into machine code in this process."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any

from tunesmith.errors import MissingDependencyError, UsageError, one_line
from tunesmith.measure.processes.interrupts import interrupted_later

_FOR_DEBUGGERS = (b".debug", b".rela.debug")
_ZEROS = (b".bss", b".tbss")


def llvm() -> Any:
    """llvmlite's binding, ready for this machine. Raises ``MissingDependencyError`` without it."""
    try:
        from llvmlite import binding
    except ImportError as error:
        raise MissingDependencyError(
            "evolving code needs llvmlite: pip install 'tunesmith[evolve]'"
        ) from error
    _initialize()
    return binding


@cache
def _initialize() -> None:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    # Kernels may hold assembly of their own: MCJIT ends the process where it cannot read it.
    binding.initialize_native_asmparser()


def parse(text: str) -> Any:
    """A module of llvmlite. Raises ``UsageError`` for what does not parse or verify."""
    binding = llvm()
    try:
        # In a context of its own: types of one name would get new ones otherwise.
        module = binding.parse_assembly(text, context=binding.create_context())
        module.verify()
    except RuntimeError as error:
        raise UsageError(f"this is no LLVM-IR: {one_line(str(error))}") from error
    return module


@interrupted_later()
def fault(text: str) -> str:
    """What is wrong with a text as a module; empty if nothing is.

    Ctrl-C waits until llvmlite has disposed of the module: Python would drop it there.
    """
    try:
        parse(text)
    except UsageError as error:
        return str(error)
    return ""


def function_of(module: Any, name: str) -> Any:
    """A function that a module defines. Raises ``UsageError`` where it does not."""
    defined = [each for each in module.functions if not each.is_declaration]
    for function in defined:
        if function.name == name:
            return function
    names = ", ".join(each.name for each in defined) or "none"
    raise UsageError(f"there is no function '{name}' in the module: it defines {names}")


def target_machine() -> Any:
    """This machine, at -O3. An engine owns its own, so each needs a new one."""
    binding = llvm()
    triple = binding.get_process_triple()
    return binding.Target.from_triple(triple).create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="jitdefault",
        jit=True,
    )


def optimize(module: Any, *, level: int = 3, vectorize: bool = True) -> None:
    """Run LLVM's passes of ``-O1`` to ``-O3`` over a module. Without ``vectorize`` loops stay as
    they are written: one copy of each, which is what edits can make sense of."""
    binding = llvm()
    options = binding.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.slp_vectorization = vectorize
    options.loop_unrolling = options.loop_interleaving = vectorize
    builder = binding.create_pass_builder(target_machine(), options)
    builder.getModulePassManager().run(module, builder)


def simplified(text: str, entry: str, name: str | None = None) -> str:
    """A module with what ``entry`` needs alone, in SSA form: what edits begin with. It may get
    another ``name``.

    Raises ``UsageError`` like ``parse`` and ``function_of``.
    """
    module = _alone(text, entry, name)
    optimize(module, level=1, vectorize=False)
    return str(module)


def reduced(text: str, entry: str, name: str) -> str:
    """The same of a module that was optimised, whose code stays as it is."""
    module = _alone(text, entry, name)
    binding = llvm()
    options = binding.create_pipeline_tuning_options(speed_level=0)
    builder = binding.create_pass_builder(target_machine(), options)
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    return str(module)


def _alone(text: str, entry: str, name: str | None) -> Any:
    """A module of which nothing but one function, by another name, can be seen from outside."""
    module = parse(text)
    wanted = function_of(module, entry)
    module.triple = llvm().get_process_triple()
    for function in module.functions:
        if not function.is_declaration and function.name != entry:
            function.linkage = "internal"
    for variable in module.global_variables:
        if not variable.is_declaration and str(variable.linkage) != "Linkage.appending":
            variable.linkage = "internal"
    if name is not None:
        wanted.name = name
    return module


class Machine:
    """A module as machine code; ``address`` is that of its function ``entry``.

    It is there for as long as this object; ``code`` is a digest of it. ``libraries`` are files of
    shared libraries that it needs; what is ``optimized`` already is taken as it is. Raises
    ``UsageError`` for what does not parse.
    """

    def __init__(
        self, text: str, entry: str, libraries: Sequence[str] = (), *, optimized: bool = False
    ) -> None:
        for library in libraries:
            llvm().load_library_permanently(library)
        module = parse(text)
        if not optimized:
            optimize(module)
        self._engine = llvm().create_mcjit_compiler(module, target_machine())
        objects: list[bytes] = []
        self._engine.set_object_cache(lambda _, made: objects.append(bytes(made)))
        self._engine.finalize_object()
        assert objects, "MCJIT tells of what it has made"
        self.code = hashlib.sha256(b"".join(map(_what_runs, objects))).hexdigest()
        self.address = int(self._engine.get_function_address(entry))


def _what_runs(made: bytes) -> bytes:
    """The sections of an object file, without those for debuggers alone."""
    found = []
    for section in llvm().ObjectFileRef.from_data(made).sections():
        name = section.name() or b""
        # What begins as zeros has a size and no content.
        if not name.startswith(_FOR_DEBUGGERS):
            content = b"" if not name or name.startswith(_ZEROS) else section.data()
            found.append(b"%b %d %b" % (name, section.size(), content))
    return b"".join(found)


def object_file(text: str) -> bytes:
    """A module as an object file of this machine. Raises ``UsageError`` like ``parse``."""
    module = parse(text)
    optimize(module)
    return bytes(target_machine().emit_object(module))
