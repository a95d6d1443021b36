"""The file of a compiled network: a shared library with its code, weights and description."""

from __future__ import annotations

import ctypes
import json
import platform
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tunesmith.compiler import llvm
from tunesmith.compiler.aarch64 import missing_on_aarch64
from tunesmith.compiler.libraries import architecture_of, link, linker_of, load, symbols_of
from tunesmith.errors import TunesmithError, UsageError, last_line, system_reason
from tunesmith.kernel import arrays
from tunesmith.networks.c_interface.source import MISSING
from tunesmith.networks.description import FORMAT, Description
from tunesmith.networks.objects import DESCRIPTION, INSTRUCTIONS, WEIGHTS, object_files
from tunesmith.networks.processors import check_missing, check_processor
from tunesmith.operators import Argument


def write(library: Path, executable: Any, weights: Sequence[Any], description: Description) -> Path:
    """Write the library; weights are TVM's tensors. Raises like ``CompiledNetwork.save``."""
    check_place(library)
    linker = linker_of(description.triple, "a network")
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent, prefix=".tunesmith-") as made:
            objects = object_files(Path(made), weights, description)
            link(executable, library, objects, linker)
    except OSError as error:
        raise TunesmithError(
            f"cannot write {library}: {system_reason(error)}: make room, or name a file in a "
            "folder that you may write to"
        ) from error
    return library


def check_place(library: Path) -> None:
    """Raises ``UsageError`` for a path that cannot be a network's."""
    if library.suffix != ".so":
        raise UsageError(
            f"a network is saved as a shared library: name it like {library.stem or 'net'}.so"
        )


@dataclass(frozen=True)
class SavedLibrary:
    """A library that is loaded when it is called: that of a network for a GPU, which may not be on
    this machine."""

    path: Path

    @cached_property
    def library(self) -> Any:
        """TVM's module. Raises what TVM raises."""
        return load(self.path)


def read(path: Path) -> tuple[Any, list[Any], Description]:
    """The module, the weights and the description of a library; for a GPU a ``SavedLibrary``.

    The weights are views of the library, which stays loaded; those that the file does not have are
    None. Raises ``TunesmithError`` if the file is missing or is no network's library, and if this
    machine's processor is another one or lacks instructions that it needs.
    """
    library = path.resolve()
    if not library.is_file():
        raise TunesmithError(f"no file {library}: build the network first")
    try:
        architecture = architecture_of(library)
    except OSError as error:
        raise TunesmithError(f"cannot read {library}: {system_reason(error)}") from error
    if architecture not in (None, platform.machine()):
        raise TunesmithError(
            f"{library} is for {architecture}-linux-gnu: load it on such a machine"
        )
    try:
        symbols = symbols_of(library)
        text = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(symbols, DESCRIPTION)))
        saved = json.loads(text)
        if saved["format"] != FORMAT:
            raise TunesmithError(
                f"{library} has format {saved['format']}, this version reads {FORMAT}: build the "
                "network again"
            )
        description = Description.from_json(saved)
        start = ctypes.addressof(ctypes.c_char.in_dll(symbols, WEIGHTS))
        _check_saved(symbols, description, saved.get(INSTRUCTIONS))
        llvm.load_sorting()
        module = load(library) if description.arch is None else SavedLibrary(library)
    except TunesmithError:
        raise
    except Exception as error:
        reason = last_line(error)
        raise TunesmithError(f"{library} is not a network's library: {reason}") from error
    weights = [
        _at(start + offset, weight) if description.is_stored(number) else None
        for number, (weight, offset) in enumerate(
            zip(description.weights, description.offsets, strict=False)
        )
    ]
    return module, weights, description


def _check_saved(symbols: Any, description: Description, needed: Iterable[str] | None) -> None:
    """Like ``check_processor``, without LLVM: it may not be here, and takes more memory than a
    network's call. The library asks an x86 processor itself; ``needed`` is what its file says."""
    if description.arch is None and platform.machine() == "x86_64" and hasattr(symbols, MISSING):
        function = symbols[MISSING]
        function.restype = ctypes.c_char_p
        missing = function()
        check_missing(description, [missing.decode()] if missing else [])
    elif needed is not None and platform.machine() == "aarch64":
        check_missing(description, missing_on_aarch64(needed))
    else:
        check_processor(description)


def _at(address: int, argument: Argument) -> Any:
    """TVM's tensor on the memory at an address."""
    memory = (ctypes.c_uint8 * argument.bytes).from_address(address)
    array = np.ctypeslib.as_array(memory).view(argument.numpy_dtype).reshape(argument.shape)
    return arrays.numpy_tensor(array)
