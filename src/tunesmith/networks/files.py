"""The file of a compiled network: a shared library with its code, weights and description."""

from __future__ import annotations

import ctypes
import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from tunesmith.compiler.libraries import check_linker, link, load
from tunesmith.errors import TunesmithError, UsageError, last_line, system_reason
from tunesmith.operators import Argument

FORMAT = 1

# Symbols of the library: the description, a text that ends with 0, and the weights.
_DESCRIPTION = "tunesmith_description"
_WEIGHTS = "tunesmith_weights"
# Weights start at multiples of this many bytes, as our other tensors do.
_ALIGNMENT = 64

_ASSEMBLY = f"""
    .section .rodata
    .global {_DESCRIPTION}
{_DESCRIPTION}:
    .incbin "description.json"
    .byte 0
    .balign {_ALIGNMENT}
    .global {_WEIGHTS}
{_WEIGHTS}:
    .incbin "weights.bin"
    .byte 0
    .section .note.GNU-stack,"",@progbits
"""


@dataclass(frozen=True)
class Description:
    """Everything about a compiled network except its code and its weights.

    ``weights`` are what its function takes after the ``inputs``. ``processor`` is what it was
    compiled for, ``cores`` is the number of threads that it runs on. ``bounds`` are for inputs that
    are indices, by name: these must be smaller, and not negative.
    """

    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    weights: tuple[Argument, ...]
    processor: str
    cores: int
    bounds: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        """The inverse. Raises ``LookupError``, ``TypeError``, ``ValueError`` for anything else."""
        return cls(
            inputs=_arguments(saved["inputs"]),
            outputs=_arguments(saved["outputs"]),
            weights=_arguments(saved["weights"]),
            processor=str(saved["processor"]),
            cores=int(saved["cores"]),
            bounds={str(name): int(bound) for name, bound in saved["bounds"].items()},
        )

    @property
    def offsets(self) -> list[int]:
        """Where each of the weights starts, in bytes; then where they end."""
        found = [0]
        for weight in self.weights:
            found.append(found[-1] + -(-weight.bytes // _ALIGNMENT) * _ALIGNMENT)
        return found


def _arguments(saved: Sequence[Mapping[str, Any]]) -> tuple[Argument, ...]:
    return tuple(
        Argument(str(each["name"]), tuple(map(int, each["shape"])), str(each["dtype"]))
        for each in saved
    )


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
            data = _object(Path(made), weights, description)
            link(executable, library, [data])
    except OSError as error:
        raise TunesmithError(
            f"cannot write {library}: {system_reason(error)}: name a file in a folder that you "
            "may write to"
        ) from error
    return library


def _object(folder: Path, weights: Sequence[Any], description: Description) -> Path:
    """An object file with the description and the weights. Raises ``OSError``."""
    from tvm.support.cc import get_cc

    text = json.dumps(description.to_json())
    (folder / "description.json").write_text(text, encoding="utf-8")
    with (folder / "weights.bin").open("wb") as file:
        for weight, offset in zip(weights, description.offsets, strict=False):
            file.seek(offset)
            file.write(np.from_dlpack(weight).view(np.uint8).data)
    source, made = folder / "data.s", folder / "data.o"
    source.write_text(_ASSEMBLY, encoding="utf-8")
    command = [str(get_cc()), "-c", source.name, "-o", made.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip().partition("\n")[0] or "the assembler gives no reason"
        raise TunesmithError(f"cannot assemble a network's weights: {reason}")
    return made


def read(path: Path) -> tuple[Any, list[Any], Description]:
    """The module, the weights and the description of a library.

    The weights are views of the library, which stays loaded. Raises ``TunesmithError`` if the file
    is missing or is no network's library.
    """
    library = path.resolve()
    if not library.is_file():
        raise TunesmithError(f"no file {library}: build the network first")
    try:
        module = load(library)
        symbols = ctypes.CDLL(str(library))
        text = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(symbols, _DESCRIPTION)))
        saved = json.loads(text)
        if saved["format"] != FORMAT:
            raise TunesmithError(
                f"{library} has format {saved['format']}, this version reads {FORMAT}: build the "
                "network again"
            )
        description = Description.from_json(saved)
        start = ctypes.addressof(ctypes.c_char.in_dll(symbols, _WEIGHTS))
    except TunesmithError:
        raise
    except Exception as error:
        reason = last_line(error)
        raise TunesmithError(f"{library} is not a network's library: {reason}") from error
    weights = [
        _at(start + offset, weight)
        for weight, offset in zip(description.weights, description.offsets, strict=False)
    ]
    return module, weights, description


def _at(address: int, argument: Argument) -> Any:
    """TVM's tensor on the memory at an address."""
    import tvm_ffi

    memory = (ctypes.c_uint8 * argument.bytes).from_address(address)
    array = np.ctypeslib.as_array(memory).view(argument.numpy_dtype).reshape(argument.shape)
    return tvm_ffi.from_dlpack(array)
