"""The object files of a network's library beside its code: weights, and what it says of itself."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tunesmith.compiler.cross_linker import c_compiler_for
from tunesmith.compiler.libraries import complaint
from tunesmith.errors import TunesmithError, last_line
from tunesmith.kernel import arrays
from tunesmith.networks.c_interface.source import INCLUDE, c_source
from tunesmith.networks.description import ALIGNMENT, Description
from tunesmith.networks.processors import needed_instructions

# Symbols of the library: the description, a text that ends with 0, and the weights.
DESCRIPTION = "tunesmith_description"
WEIGHTS = "tunesmith_weights"

INSTRUCTIONS = "instructions"
"""The field of the description in a file that has the sets of instructions that its code may use:
where it is loaded, nobody may know them."""

_ASSEMBLY = f"""
    .section .rodata
    .global {DESCRIPTION}
{DESCRIPTION}:
    .incbin "{{folder}}/description.json"
    .byte 0
    .balign {ALIGNMENT}
    .global {WEIGHTS}
{WEIGHTS}:
    .incbin "{{folder}}/weights.bin"
    .byte 0
    .section .note.GNU-stack,"",@progbits
"""


def object_files(folder: Path, weights: Sequence[Any], description: Description) -> list[Path]:
    """Write the object files to a folder, for Python and, if ``has_c_interface``, for C.

    Raises ``OSError`` and ``TunesmithError``.
    """
    needed = needed_instructions(description.processor, description.triple)
    text = json.dumps({**description.to_json(), INSTRUCTIONS: needed})
    (folder / "description.json").write_text(text, encoding="utf-8")
    with (folder / "weights.bin").open("wb") as file:
        for weight, offset in zip(weights, description.offsets, strict=False):
            if weight is not None:
                file.seek(offset)
                file.write(arrays.bytes_of(weight))
    made = [_assembled(folder, description)]
    (folder / "weights.bin").unlink()  # they may be large, and linking takes room
    if has_c_interface(description):
        made.append(_compiled(folder, c_source(description, needed), _c_compiler(description)))
    return made


def has_c_interface(description: Description) -> bool:
    """Whether programs in C can load the library, too.

    There is no such interface to networks for GPUs, and none without a C compiler for the platform.
    """
    return description.arch is None and bool(_c_compiler(description))


def _c_compiler(description: Description) -> Sequence[str]:
    """The command of the C compiler; empty if there is none for the platform."""
    if description.triple is not None:
        return c_compiler_for(description.target.architecture) or ()
    from tvm.support.cc import get_cc

    return [str(get_cc())]


def _assembled(folder: Path, description: Description) -> Path:
    """The weights and the description, by the C compiler's assembler; for another platform by LLVM,
    as there may be none."""
    if description.triple is None:
        (folder / "data.s").write_text(_ASSEMBLY.format(folder="."), encoding="utf-8")
        command = [*_c_compiler(description), "-c", "-x", "assembler", "data.s", "-o", "data.o"]
        _run(command, folder)
        return folder / "data.o"
    import tvm

    lines = _ASSEMBLY.format(folder=folder.resolve()).strip().splitlines()
    quoted = [line.replace("\\", r"\5C").replace('"', r"\22") for line in lines]
    text = "\n".join(
        [f'target triple = "{description.triple}"', *(f'module asm "{it}"' for it in quoted)]
    )
    (folder / "data.ll").write_text(f"{text}\n", encoding="utf-8")
    try:
        tvm.runtime.load_module(str(folder / "data.ll")).write_to_file(str(folder / "data.o"))
    except Exception as error:
        raise TunesmithError(f"cannot write a network's weights: {last_line(error)}") from error
    return folder / "data.o"


def _compiled(folder: Path, source: str, compiler: Sequence[str]) -> Path:
    (folder / "described.c").write_text(source, encoding="utf-8")
    # It may be a compiler of C++.
    words = ("-x", "c", "-c", "-fPIC", f"-I{INCLUDE}", "described.c", "-o", "described.o")
    _run([*compiler, *words], folder)
    return folder / "described.o"


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = complaint(done.stderr) or "the compiler gives no reason"
        raise TunesmithError(f"cannot compile a network's description: {reason}")
