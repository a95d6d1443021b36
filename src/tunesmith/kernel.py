"""A kernel: a built program that a user calls on arrays, saves, and loads again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from tunesmith.errors import MissingDependencyError, TunesmithError, UsageError
from tunesmith.operators import Operator, operator_from_json
from tunesmith.space import Config
from tunesmith.target import Target

FORMAT = 1
# Compiled code may read and write whole vectors at the start of a tensor.
ALIGNMENT = 64


class Kernel:
    """A callable over the operator's arguments.

    Call it with arrays in the order of ``operator.arguments``: NumPy arrays, or any tensors with
    DLPack (PyTorch's, say). It returns a new array of the same kind, or fills ``out``. Arrays must
    be of the argument's type and shape; those that are not contiguous or not aligned to 64 bytes
    are copied first.

    Raises ``UsageError`` for arrays that do not fit.
    """

    def __init__(
        self, operator: Operator, target: Target, config: Config | None, module: Any
    ) -> None:
        self.operator = operator
        self.target = target
        self.config = config
        self._module = module
        self._function = module["main"]

    def __call__(self, *inputs: Any, out: Any | None = None) -> Any:
        arguments = self.operator.arguments
        if len(inputs) != len(arguments):
            names = ", ".join(argument.name for argument in arguments)
            raise UsageError(
                f"{self.operator.name} takes {len(arguments)} arrays ({names}), not {len(inputs)}"
            )
        tensors = [
            _tensor(value, argument.name, argument.shape, argument.dtype)
            for value, argument in zip(inputs, arguments, strict=True)
        ]
        result = self.operator.result
        output = _empty(result.shape, result.dtype)
        self._function(*tensors, output)
        if out is None:
            return _like(inputs[0] if inputs else None, output)
        _check(out, "out", result.shape, result.dtype)
        np.copyto(_numpy(out), _numpy(output))
        return out

    @classmethod
    def build(
        cls, operator: Operator, target: Target, program: Any, config: Config | None = None
    ) -> Self:
        """Compile a scheduled module. Raises ``TunesmithError`` if the compiler fails."""
        import tvm

        try:
            executable = tvm.compile(program, target=target.to_tvm())
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise TunesmithError(f"the compiler failed: {lines[-1]}") from error
        return cls(operator, target, config, executable)

    def bind(self, *inputs: Any) -> Callable[[], None]:
        """A call on copies of these arrays into one buffer, with nothing left to check: for timing.

        Raises ``UsageError`` for arrays that do not fit.
        """
        import tvm

        arguments = self.operator.arguments
        for value, argument in zip(inputs, arguments, strict=True):
            _check(value, argument.name, argument.shape, argument.dtype)
        tensors = [tvm.runtime.tensor(_numpy(value)) for value in inputs]
        output = _empty(self.operator.result.shape, self.operator.result.dtype)
        return partial(self._function, *tensors, output)

    def source(self, kind: str) -> str:
        """The compiled program as text: ``ll`` for LLVM-IR, ``asm`` for assembly."""
        return str(self._module.mod.inspect_source(kind))

    # -- files -----------------------------------------------------------------------------------

    def save(self, path: str | Path) -> list[Path]:
        """Write a shared library, a C header and a JSON description side by side.

        ``path`` is the library's; the others take its name with ``.h`` and ``.json``. Returns all
        three. Raises ``MissingDependencyError`` without a C compiler (it links), and
        ``TunesmithError`` if a file cannot be written.
        """
        from tunesmith.c_header import c_header

        library = Path(path)
        header, description = library.with_suffix(".h"), library.with_suffix(".json")
        if library.suffix in {".h", ".json", ""}:
            raise UsageError(
                f"a kernel is saved as a shared library: name it like {library.stem}.so"
            )
        _require_compiler()
        try:
            library.parent.mkdir(parents=True, exist_ok=True)
            self._module.export_library(str(library))
            header.write_text(c_header(self.operator, library.stem), encoding="utf-8")
            description.write_text(json.dumps(self.describe(), indent=2) + "\n", encoding="utf-8")
        except (OSError, RuntimeError) as error:
            reason = (str(error).strip().splitlines() or ["unknown error"])[0]
            raise TunesmithError(f"cannot save {library}: {reason}") from error
        return [library, header, description]

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A kernel from the files that ``save`` wrote.

        Raises ``TunesmithError`` if one of them is missing or is not such a file.
        """
        import tvm

        library = Path(path).resolve()
        description = library.with_suffix(".json")
        for needed in (library, description):
            if not needed.is_file():
                raise TunesmithError(f"no file {needed}: a kernel is a library and its .json")
        try:
            saved = json.loads(description.read_text(encoding="utf-8"))
            if saved["format"] != FORMAT:
                raise TunesmithError(
                    f"{description} has format {saved['format']}, this version reads {FORMAT}"
                )
            operator = operator_from_json(saved["operator"])
            config = None if saved["config"] is None else Config.from_json(saved["config"])
            target = Target(**saved["target"])
        except (KeyError, TypeError, ValueError) as error:
            raise TunesmithError(f"{description} does not describe a kernel: {error}") from error
        try:
            module = tvm.runtime.load_module(str(library))
        except Exception as error:
            raise TunesmithError(f"{library} is not a kernel's library") from error
        return cls(operator, target, config, module)

    def describe(self) -> dict[str, Any]:
        """What the JSON beside a saved library says."""
        operator = self.operator
        fields = ("name", "shape", "dtype")
        return {
            "format": FORMAT,
            "operator": operator.to_json(),
            "target": {
                "kind": self.target.kind,
                "mcpu": self.target.mcpu,
                "cores": self.target.cores,
            },
            "config": None if self.config is None else self.config.to_json(),
            "arguments": [
                {field: getattr(argument, field) for field in fields}
                for argument in operator.arguments
            ],
            "result": {field: getattr(operator.result, field) for field in fields},
            "alignment": ALIGNMENT,
            "flops": operator.flops,
        }


def _require_compiler() -> None:
    import shutil

    if not any(shutil.which(name) for name in ("g++", "clang++", "gcc", "clang", "cc")):
        raise MissingDependencyError(
            "saving a kernel needs a C compiler to link it: install gcc or clang"
        )


def _empty(shape: Sequence[int], dtype: str) -> Any:
    import tvm

    return tvm.runtime.empty(tuple(shape), dtype, tvm.cpu())


def _check(value: Any, name: str, shape: Sequence[int], dtype: str) -> None:
    if not hasattr(value, "__dlpack__"):
        raise UsageError(f"{name} must be an array (NumPy or DLPack), not {type(value).__name__}")
    given = str(value.dtype).removeprefix("torch.")
    if tuple(value.shape) != tuple(shape) or given != dtype:
        raise UsageError(
            f"{name} must be {dtype} of shape {tuple(shape)}, not {given} of shape "
            f"{tuple(value.shape)}"
        )


def _tensor(value: Any, name: str, shape: Sequence[int], dtype: str) -> Any:
    """``value`` as a TVM tensor, without a copy where its memory allows it."""
    import tvm

    _check(value, name, shape, dtype)
    if isinstance(value, np.ndarray):
        usable = value.flags.c_contiguous and value.ctypes.data % ALIGNMENT == 0
        if not (usable and value.flags.writeable):
            return tvm.runtime.tensor(np.ascontiguousarray(value))
    elif hasattr(value, "contiguous"):
        value = value.detach().contiguous()
    try:
        return tvm.runtime.from_dlpack(value)
    except (RuntimeError, BufferError, TypeError):  # not aligned, or of a kind DLPack lacks
        return tvm.runtime.tensor(np.ascontiguousarray(_numpy(value)))


def _numpy(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value
    try:
        return np.from_dlpack(value)
    except (RuntimeError, BufferError, TypeError):
        return value.numpy()


def _like(example: Any, output: Any) -> Any:
    """``output`` as the kind of array that ``example`` is, without a copy."""
    if example is not None and not isinstance(example, np.ndarray):
        library = sys.modules.get(type(example).__module__.partition(".")[0])
        convert = getattr(library, "from_dlpack", None)
        if convert is not None:
            return convert(output)
    return _numpy(output)
