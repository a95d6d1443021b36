"""What a user names on the command line: tests, and a program to evolve."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunesmith.errors import UsageError, describe

if TYPE_CHECKING:
    from types import ModuleType

    from tunesmith.evolve.evaluation.subject import Evolvable

_KINDS = "a Numba function, FILE.py:NAME; LLVM-IR, FILE.ll with --entry; or StableHLO, FILE.mlir"


def load_tests(path: Path | None) -> ModuleType:
    """A file with tests. Raises ``UsageError`` for one that has none, or cannot be loaded."""
    if path is None:
        raise UsageError("there are no tests: name a Python file with --test")
    harness = _loaded(path)
    if not hasattr(harness, "tests"):
        raise UsageError(f"{path} has no tests: a list, or a function that returns one")
    return harness


def listed(harness: ModuleType, name: str) -> Any:
    """A list of a harness, or what a function of that name returns; None if there is neither."""
    found = getattr(harness, name, None)
    if found is None:
        return None
    try:
        return list(found() if callable(found) else found)
    except Exception as error:
        what = f"{name}()" if callable(found) else name
        raise UsageError(f"{what} of {harness.__file__} failed: {describe(error)}") from error


def load_program(text: str, entry: str | None) -> Evolvable:
    """What to evolve. Raises ``UsageError`` for what is neither kind of file, or not there."""
    name, _, function = text.partition(":")
    path = Path(name)
    if path.suffix == ".py":
        if not function:
            raise UsageError(f"{text} names no function: write {name}:FUNCTION")
        return _numba_kernel(path, function)
    if path.suffix == ".ll":
        if entry is None:
            raise UsageError(f"name the function of {name} to evolve with --entry")
        from tunesmith.evolve.llvm.kernel import LLVMKernel

        return LLVMKernel(_read(path), entry)
    if path.suffix == ".mlir":
        from tunesmith.evolve.mlir.model import StableHLOModule

        return StableHLOModule(_read(path), entry or "main")
    raise UsageError(f"{text} is nothing to evolve: name {_KINDS}")


def _numba_kernel(path: Path, name: str) -> Evolvable:
    from tunesmith.evolve.llvm.kernel import NumbaKernel

    module = _loaded(path)
    function = getattr(module, name, None)
    if not callable(function):
        raise UsageError(f"{path} has no function '{name}'")
    return NumbaKernel(function)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {describe(error)}") from error


def _loaded(path: Path) -> ModuleType:
    """A Python file as a module, whose functions other processes get by value."""
    import cloudpickle

    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"cannot load {path}: {describe(error)}") from error
    cloudpickle.register_pickle_by_value(module)
    return module
