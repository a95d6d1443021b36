"""The files of a saved kernel: a shared library, a C header and a JSON description."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from tunesmith.compiler.libraries import link, linker_of, load
from tunesmith.cuda.devices import gpu_for
from tunesmith.cuda.runtime import load_runtime
from tunesmith.errors import (
    TunesmithError,
    UsageError,
    last_line,
    system_reason,
)
from tunesmith.kernel.c_header import c_header
from tunesmith.operators import Argument, Operator, operator_from_json
from tunesmith.space import Config
from tunesmith.target import Target

# Format 1 had no prepared weights, format 2 no GPUs.
FORMAT = 3
_READABLE = (1, 2, 3)


@dataclass(frozen=True)
class Description:
    """Everything about a kernel except its code.

    ``processor`` and ``arch`` are the CPU and the GPU architecture that it was compiled for;
    ``arch`` is None for a CPU kernel. ``workspace`` says whether its launches share temporary GPU
    memory. ``prepared`` is the tensor that ``prepare`` makes of the weights, None if there is no
    such function. Arrays must start at multiples of ``alignment`` bytes: 64 for GPUs and for CPU
    kernels of older versions, 1 for others. ``instructions`` are the sets that its code may use,
    None in files that do not say so.
    """

    operator: Operator
    target: Target
    config: Config | None
    processor: str
    arch: str | None = None
    workspace: bool = False
    prepared: Argument | None = None
    alignment: int = 1
    instructions: tuple[str, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """The content of the JSON file beside a saved library."""
        target = asdict(self.target)
        if self.target.triple is None:
            del target["triple"]  # which earlier versions do not know
        return {
            "format": FORMAT,
            "operator": self.operator.to_json(),
            "target": target,
            "processor": self.processor,
            "arch": self.arch,
            "workspace": self.workspace,
            "config": None if self.config is None else self.config.to_json(),
            "arguments": [asdict(argument) for argument in self.operator.arguments],
            "prepared": None if self.prepared is None else asdict(self.prepared),
            "result": asdict(self.operator.result),
            "alignment": self.alignment,
            "instructions": self.instructions,
            "flops": self.operator.flops,
        }

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file that holds ``to_json``. Raises ``TunesmithError``."""
        try:
            saved = json.loads(path.read_text(encoding="utf-8"))
            if saved["format"] not in _READABLE:
                known = f"{_READABLE[0]} to {_READABLE[-1]}"
                raise TunesmithError(
                    f"{path} has format {saved['format']}, this version reads {known}: "
                    "save the kernel again"
                )
            prepared = saved["prepared"] if saved["format"] > 1 else None
            arch = saved["arch"] if saved["format"] > 2 else None
            workspace = saved["workspace"] if saved["format"] > 2 else False
            needed = saved.get("instructions")
            return cls(
                operator=operator_from_json(saved["operator"]),
                target=Target(**saved["target"]),
                config=None if saved["config"] is None else Config.from_json(saved["config"]),
                processor=str(saved["processor"]),
                arch=None if arch is None else str(arch),
                workspace=bool(workspace),
                prepared=None if prepared is None else _argument(prepared),
                alignment=int(saved["alignment"]),
                instructions=None if needed is None else tuple(map(str, needed)),
            )
        except KeyError as error:
            raise TunesmithError(f"{path} does not describe a kernel: it lacks {error}") from error
        except (AttributeError, TypeError, ValueError, UsageError, OSError) as error:
            reason = last_line(error)
            raise TunesmithError(f"{path} does not describe a kernel: {reason}") from error


def write(library: Path, module: Any, description: Description) -> list[Path]:
    """Write the library, and beside it the header and the JSON under the same name.

    ``module`` is TVM's executable. Raises like ``Kernel.save``.
    """
    header, described = library.with_suffix(".h"), library.with_suffix(".json")
    check_place(library)
    linker = linker_of(description.target.triple, "a kernel")
    operator, prepared = description.operator, description.prepared
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        link(module, library, linker=linker)
        text = c_header(operator, library.stem, description.processor, prepared, description.arch)
        header.write_text(text, encoding="utf-8")
        text = json.dumps(description.to_json(), indent=2)
        described.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise TunesmithError(
            f"cannot write {library}: {system_reason(error)}: name a file in a folder that you "
            "may write to"
        ) from error
    return [library, header, described]


def check_place(library: Path) -> None:
    """Raises ``UsageError`` for a path that cannot be a kernel's."""
    if library.suffix in {".h", ".json", ""}:
        raise UsageError(
            f"a kernel is saved as a shared library: name it like {library.stem or 'kernel'}.so"
        )


def read(path: str | Path) -> tuple[Any, Description]:
    """The module of a saved library, and the description in the JSON beside it.

    Raises ``TunesmithError`` if one of the files is missing or invalid, and for a GPU kernel like
    ``gpu_for`` and ``load_runtime``.
    """
    library = Path(path).resolve()
    described = library.with_suffix(".json")
    for needed in (library, described):
        if not needed.is_file():
            raise TunesmithError(f"no file {needed}: a kernel is a library and its .json")
    description = Description.read(described)
    if description.target.architecture != platform.machine():
        raise TunesmithError(
            f"{library} is for {description.target.triple}: load it on such a machine"
        )
    if description.arch is not None:
        gpu_for(description.arch)
        load_runtime()
    try:
        module = load(library)
        for name in ("main",) if description.prepared is None else ("main", "prepare"):
            module[name]
    except Exception as error:
        raise TunesmithError(f"{library} is not a kernel's library: save it again") from error
    return module, description


def _argument(tensor: Mapping[str, Any]) -> Argument:
    return Argument(str(tensor["name"]), tuple(map(int, tensor["shape"])), str(tensor["dtype"]))
