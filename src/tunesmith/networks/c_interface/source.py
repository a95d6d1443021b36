"""A network's description as C: the types are in ``network_description.h``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tunesmith.networks.description import FORMAT, Description, Entry
from tunesmith.operators import Argument

INCLUDE = Path(__file__).parent / "include"
"""The folder of the headers."""

SYMBOL = "tunesmith_network"

MISSING = "tunesmith_missing_instructions"
"""A function that returns the name of a set of instructions that the code may use and the
processor lacks, or a null pointer. On processors other than x86 it knows of none."""

_MISSING = f"""
const char* {MISSING}(void) {{
  for (int32_t i = 0; i < {SYMBOL}.num_instructions; ++i)
    if (!tunesmith_has_instructions({SYMBOL}.instructions[i])) return {SYMBOL}.instructions[i];
  return 0;
}}
"""


def c_source(description: Description, instructions: Iterable[str]) -> str:
    """A file of C that defines ``SYMBOL`` and ``MISSING``; ``instructions`` are those that the code
    may use."""
    names = [_text(name) for name in sorted(instructions)]
    entries = [_entry(entry, description.bounds) for entry in description.entries]
    offsets = [str(offset) for offset in description.offsets]
    fields = [
        *(str(FORMAT), str(description.cores), _text(description.processor)),
        *(str(len(names)), _array("char* const", names)),
        *(str(len(entries)), _array("TunesmithEntry", entries)),
        *(str(len(description.weights)), _tensors(description.weights, {})),
        *(_array("int64_t", offsets), str(description.buffer_bytes)),
    ]
    return (
        "#include <tunesmith/instructions.h>\n#include <tunesmith/network_description.h>\n\n"
        f"const TunesmithDescription {SYMBOL} = {_braces(fields)};\n{_MISSING}"
    )


def _entry(entry: Entry, bounds: Mapping[str, int]) -> str:
    batch = -1 if entry.batch is None else entry.batch
    counts = (len(entry.inputs), len(entry.outputs), len(entry.weights))
    return _braces(
        [
            *(_text(entry.function), str(batch), *map(str, counts)),
            *(_tensors(entry.inputs, bounds), _tensors(entry.outputs, {})),
            *(_array("int32_t", map(str, entry.weights)), str(len(entry.buffers))),
            _tensors([buffer.argument for buffer in entry.buffers], {}),
            _array("int64_t", [str(buffer.offset) for buffer in entry.buffers]),
        ]
    )


def _tensors(arguments: Sequence[Argument], bounds: Mapping[str, int]) -> str:
    return _array("TunesmithTensor", [_tensor(it, bounds.get(it.name, 0)) for it in arguments])


def _tensor(argument: Argument, bound: int) -> str:
    import tvm_ffi

    kind = tvm_ffi.dtype(argument.dtype)
    return _braces(
        [
            *(_text(argument.name), _text(argument.dtype), str(kind.type_code), str(kind.bits)),
            *(str(len(argument.shape)), _array("int64_t", map(str, argument.shape))),
            *(str(argument.bytes), str(bound)),
        ]
    )


def _array(kind: str, items: Iterable[str]) -> str:
    """A constant array, or a null pointer in place of an empty one, which C does not have."""
    listed = list(items)
    return f"(const {kind}[]){_braces(listed)}" if listed else "0"


def _braces(items: Iterable[str]) -> str:
    return "{" + ", ".join(items) + "}"


def _text(text: str) -> str:
    """A literal of C: bytes of UTF-8 that are no plain characters are written as numbers."""
    return '"' + "".join(_character(byte) for byte in text.encode()) + '"'


def _character(byte: int) -> str:
    character = chr(byte)
    plain = character.isascii() and character.isprintable() and character not in '"\\?'
    return character if plain else f"\\{byte:03o}"
