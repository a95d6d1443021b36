"""The file of a compiled network: a shared library with its code, weights and description."""

from __future__ import annotations

import ctypes
import json
import platform
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tunesmith.compiler.libraries import check_linker, complaint, link, load, symbols_of
from tunesmith.errors import TunesmithError, UsageError, last_line, system_reason
from tunesmith.kernel import arrays
from tunesmith.networks.c_interface.source import INCLUDE, MISSING, c_source
from tunesmith.networks.description import ALIGNMENT, FORMAT, Description
from tunesmith.operators import Argument
from tunesmith.target import Target, instructions

# Symbols of the library: the description, a text that ends with 0, and the weights.
_DESCRIPTION = "tunesmith_description"
_WEIGHTS = "tunesmith_weights"

_ASSEMBLY = f"""
    .section .rodata
    .global {_DESCRIPTION}
{_DESCRIPTION}:
    .incbin "description.json"
    .byte 0
    .balign {ALIGNMENT}
    .global {_WEIGHTS}
{_WEIGHTS}:
    .incbin "weights.bin"
    .byte 0
    .section .note.GNU-stack,"",@progbits
"""


def write(library: Path, executable: Any, weights: Sequence[Any], description: Description) -> Path:
    """Write the library; weights are TVM's tensors. Raises like ``CompiledNetwork.save``."""
    if library.suffix != ".so":
        raise UsageError(
            f"a network is saved as a shared library: name it like {library.stem or 'net'}.so"
        )
    check_linker("a network")
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent, prefix=".tunesmith-") as made:
            link(executable, library, _objects(Path(made), weights, description))
    except OSError as error:
        raise TunesmithError(
            f"cannot write {library}: {system_reason(error)}: make room, or name a file in a "
            "folder that you may write to"
        ) from error
    return library


def _objects(folder: Path, weights: Sequence[Any], description: Description) -> list[Path]:
    """Object files with the weights and the description, for Python and for C.

    C has no interface to networks for GPUs, which are described for Python only.

    Raises ``OSError`` and ``TunesmithError``.
    """
    from tvm.support.cc import get_cc

    text = json.dumps(description.to_json())
    (folder / "description.json").write_text(text, encoding="utf-8")
    with (folder / "weights.bin").open("wb") as file:
        for weight, offset in zip(weights, description.offsets, strict=False):
            if weight is not None:
                file.seek(offset)
                file.write(arrays.bytes_of(weight))
    (folder / "data.s").write_text(_ASSEMBLY, encoding="utf-8")
    command, made = [str(get_cc()), "-c", "-fPIC", f"-I{INCLUDE}"], ["data"]
    if description.arch is None:
        for_c = c_source(description, needed_instructions(description.processor))
        (folder / "description.c").write_text(for_c, encoding="utf-8")
        command += ["-x", "c", "description.c"]
        made.append("description")
    command += ["-x", "assembler", "data.s"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = complaint(done.stderr) or "the compiler gives no reason"
        raise TunesmithError(f"cannot compile a network's description: {reason}")
    (folder / "weights.bin").unlink()  # they may be large, and linking takes room
    return [folder / f"{name}.o" for name in made]


def needed_instructions(processor: str) -> list[str]:
    """The instruction sets that a network compiled for a processor may use.

    No program of ours uses AMX, which many virtual machines hide.
    """
    return sorted(name for name in instructions(processor) if not name.startswith("amx"))


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
    processor lacks instructions that it needs.
    """
    library = path.resolve()
    if not library.is_file():
        raise TunesmithError(f"no file {library}: build the network first")
    try:
        symbols = symbols_of(library)
        text = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(symbols, _DESCRIPTION)))
        saved = json.loads(text)
        if saved["format"] != FORMAT:
            raise TunesmithError(
                f"{library} has format {saved['format']}, this version reads {FORMAT}: build the "
                "network again"
            )
        description = Description.from_json(saved)
        start = ctypes.addressof(ctypes.c_char.in_dll(symbols, _WEIGHTS))
        _check_processor(symbols, description)
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


def _check_processor(symbols: Any, description: Description) -> None:
    """Like ``check_processor``, but the library asks the processor itself where it can: LLVM takes
    more memory than a network's call."""
    if description.arch is not None or platform.machine() != "x86_64":
        check_processor(description)
        return
    function = symbols[MISSING]
    function.restype = ctypes.c_char_p
    missing = function()
    if missing:
        raise _lacking(description, missing.decode())


def missing_instructions(processor: str) -> set[str]:
    """What code that is compiled for a processor may use, and this machine's processor lacks."""
    return set(needed_instructions(processor)) - instructions(Target().processor)


def check_processor(description: Description) -> None:
    """Raises ``TunesmithError`` if an instruction is missing, which would kill the process."""
    missing = missing_instructions(description.processor)
    if missing:
        raise _lacking(description, ", ".join(sorted(missing)))


def _lacking(description: Description, missing: str) -> TunesmithError:
    return TunesmithError(
        f"the network was compiled for {description.processor} and needs {missing}, which this "
        "processor lacks: compile it here"
    )


def _at(address: int, argument: Argument) -> Any:
    """TVM's tensor on the memory at an address."""
    memory = (ctypes.c_uint8 * argument.bytes).from_address(address)
    array = np.ctypeslib.as_array(memory).view(argument.numpy_dtype).reshape(argument.shape)
    return arrays.numpy_tensor(array)
