"""A kernel: a built program that a user calls on arrays, saves, and loads again."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

from tunesmith import arrays
from tunesmith.errors import MissingDependencyError, TunesmithError, UsageError, system_reason
from tunesmith.operators import Operator, operator_from_json
from tunesmith.space import Config
from tunesmith.target import Target, instructions

FORMAT = 1

# What TVM reads when a thread of the process runs its first kernel. Unset, it takes half of the
# processors, taking the other half for hyper-threads.
_THREADS_VARIABLE = "TVM_NUM_THREADS"


class Kernel:
    """A callable over the operator's arguments.

    Call it with arrays in the order of ``operator.arguments``: NumPy arrays, or any tensors with
    DLPack (PyTorch's, say). It returns a new array of the kind of the first one, or fills ``out``,
    which may be one of the inputs. Arrays must be in main memory and of the argument's type and
    shape; those that are not in C order or do not start at a multiple of 64 bytes are copied. It
    runs on as many threads as the target has cores.

    Calling raises ``UsageError`` for arrays that do not fit, and ``TunesmithError`` on a processor
    that lacks instructions that the kernel was compiled for.
    """

    def __init__(
        self,
        operator: Operator,
        target: Target,
        config: Config | None,
        module: Any,
        processor: str | None = None,
    ) -> None:
        """``module`` is what TVM built or loaded, for ``processor``; None means the target's."""
        self.operator = operator
        self.target = target
        self.config = config
        self.processor = processor or target.processor
        self._module = module

    def __call__(self, *inputs: Any, out: Any | None = None) -> Any:
        self._check_count(inputs)
        tensors = [
            arrays.input_tensor(value, argument)
            for value, argument in zip(inputs, self.operator.arguments, strict=True)
        ]
        result = self.operator.result
        if out is None:
            output = arrays.new_tensor(result)
        else:
            result = type(result)("out", result.shape, result.dtype)
            output = arrays.output_tensor(out, result, tensors)
        _use_threads(self.target.core_count)
        self._function(*tensors, output)
        if out is None:
            return arrays.like(inputs[0], output)
        arrays.store(output, out, result)
        return out

    @classmethod
    def build(
        cls, operator: Operator, target: Target, program: Any, config: Config | None = None
    ) -> Self:
        """Compile a scheduled module.

        Raises ``TunesmithError`` if the compiler fails, ``UsageError`` if it does not know the
        target's processor.
        """
        import tvm

        tvm_target = target.to_tvm()
        try:
            module = tvm.compile(program, target=tvm_target)
        except Exception as error:
            raise TunesmithError(f"the compiler failed: {_last_line(error)}") from error
        return cls(operator, target, config, module)

    def bind(self, *inputs: Any) -> Callable[[], None]:
        """A call on copies of these arrays into one buffer, with nothing left to check: for timing.

        Raises ``UsageError`` for arrays that do not fit.
        """
        self._check_count(inputs)
        copies = []
        for value, argument in zip(inputs, self.operator.arguments, strict=True):
            copies.append(arrays.new_tensor(argument))
            copies[-1].copyfrom(arrays.input_tensor(value, argument))
        _use_threads(self.target.core_count)
        return partial(self._function, *copies, arrays.new_tensor(self.operator.result))

    def source(self, kind: str) -> str:
        """The compiled program as text: ``ll`` for LLVM-IR, ``asm`` for assembly.

        Raises ``UsageError`` for another kind, and for a kernel that was loaded.
        """
        if kind not in ("ll", "asm"):
            raise UsageError(f"a kernel's source is ll (LLVM-IR) or asm (assembly), not {kind}")
        if self._compiled is None:
            raise UsageError("a loaded kernel has no source: ask the one that was compiled")
        return str(self._compiled.inspect_source(kind))

    @property
    def _compiled(self) -> Any | None:
        """The compiler's module with the program in it; None for a kernel that was loaded."""
        return getattr(self._module, "mod", None)

    @cached_property
    def _function(self) -> Any:
        self._check_processor()
        try:
            return self._module["main"]
        except Exception as error:
            raise TunesmithError(f"the program cannot be called: {_last_line(error)}") from error

    def _check_processor(self) -> None:
        """Without its instructions the kernel would take the whole process down."""
        here = Target(self.target.kind).processor
        missing = sorted(instructions(self.processor) - instructions(here))
        if missing:
            raise TunesmithError(
                f"the kernel was compiled for {self.processor} and needs {', '.join(missing)}, "
                f"which this processor ({here}) has not: compile it here"
            )

    def _check_count(self, inputs: Sequence[Any]) -> None:
        arguments = self.operator.arguments
        if len(inputs) != len(arguments):
            names = ", ".join(argument.name for argument in arguments)
            raise UsageError(
                f"{self.operator.name} takes {len(arguments)} arrays ({names}), not {len(inputs)}"
            )

    # -- files -----------------------------------------------------------------------------------

    def save(self, path: str | Path) -> list[Path]:
        """Write a shared library, a C header and a JSON description side by side.

        ``path`` is the library's; the others take its name with ``.h`` and ``.json``. Returns all
        three. Raises ``UsageError`` for a name that is no library's, ``MissingDependencyError``
        without a C compiler (it links), and ``TunesmithError`` if linking fails or a file cannot be
        written. The folder is made if there is none.
        """
        from tunesmith.c_header import c_header

        library = Path(path)
        header, description = library.with_suffix(".h"), library.with_suffix(".json")
        if library.suffix in {".h", ".json", ""}:
            raise UsageError(
                f"a kernel is saved as a shared library: name it like {library.stem or 'kernel'}.so"
            )
        if self._compiled is None:
            raise UsageError("a loaded kernel is saved already: copy its files")
        _require_linker()
        try:
            library.parent.mkdir(parents=True, exist_ok=True)
            self._link(library)
            text = c_header(self.operator, library.stem, self.processor)
            header.write_text(text, encoding="utf-8")
            description.write_text(json.dumps(self.describe(), indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise TunesmithError(
                f"cannot write {library}: {system_reason(error)}: name a file in a folder that you "
                "may write to"
            ) from error
        return [library, header, description]

    def _link(self, library: Path) -> None:
        """Write the shared library, whole or not at all.

        Raises ``OSError`` where it cannot be put in place, ``TunesmithError`` if linking fails.
        """
        with tempfile.TemporaryDirectory(dir=library.parent, prefix=".tunesmith-") as folder:
            made = Path(folder) / "kernel.so"
            try:
                self._module.export_library(str(made))
            except OSError as error:  # of starting the linker, or of what it is to read
                what = error.filename or "the linker"
                reason = f"{what}: {system_reason(error)}"
                raise TunesmithError(f"cannot link {library}: {reason}") from error
            except RuntimeError as error:  # its words, then the command that it was
                words = str(error).removeprefix("Compilation error:").partition("Command line:")[0]
                reason = words.strip().partition("\n")[0] or "the linker gives no reason"
                raise TunesmithError(f"cannot link {library}: {reason}") from error
            made.replace(library)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A kernel from the files that ``save`` wrote: the library, and the JSON beside it.

        Raises ``TunesmithError`` if one of them is missing or is not such a file, and if this
        processor lacks instructions that the kernel needs.
        """
        library = Path(path).resolve()
        description = library.with_suffix(".json")
        for needed in (library, description):
            if not needed.is_file():
                raise TunesmithError(f"no file {needed}: a kernel is a library and its .json")
        operator, target, config, processor = _described(description)
        try:
            module = _load_library(library)
            function = module["main"]
        except Exception as error:
            raise TunesmithError(f"{library} is not a kernel's library: save it again") from error
        kernel = cls(operator, target, config, module, processor)
        kernel._function = function
        kernel._check_processor()
        return kernel

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
            "processor": self.processor,
            "config": None if self.config is None else self.config.to_json(),
            "arguments": [
                {field: getattr(argument, field) for field in fields}
                for argument in operator.arguments
            ],
            "result": {field: getattr(operator.result, field) for field in fields},
            "alignment": arrays.ALIGNMENT,
            "flops": operator.flops,
        }


def _described(path: Path) -> tuple[Operator, Target, Config | None, str]:
    """What ``Kernel.describe`` said, read from its file. Raises ``TunesmithError``."""
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        if saved["format"] != FORMAT:
            raise TunesmithError(
                f"{path} has format {saved['format']}, this version reads {FORMAT}: "
                "save the kernel again"
            )
        config = None if saved["config"] is None else Config.from_json(saved["config"])
        operator, target = operator_from_json(saved["operator"]), Target(**saved["target"])
        return operator, target, config, str(saved["processor"])
    except KeyError as error:
        raise TunesmithError(f"{path} does not describe a kernel: it lacks {error}") from error
    except (AttributeError, TypeError, ValueError, UsageError, OSError) as error:
        reason = _last_line(error)
        raise TunesmithError(f"{path} does not describe a kernel: {reason}") from error


def _load_library(path: Path) -> Any:
    import tvm  # noqa: F401 - the library calls its runtime
    import tvm_ffi

    # By a name of its own: for a name that is in use the system gives the library that it knows,
    # even if another one has been saved there since. (TVM's own function follows links.)
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / path.name
        link.symlink_to(path)
        return tvm_ffi.load_module(link)


def _last_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__


def _require_linker() -> None:
    from tvm.support.cc import get_cc

    if get_cc() is None:
        raise MissingDependencyError(
            "saving a kernel needs a C compiler to link it: install gcc or clang"
        )


_used = threading.local()


def _use_threads(count: int) -> None:
    """Let the kernels that this thread calls run on ``count`` threads."""
    import tvm

    if getattr(_used, "count", None) != count:
        os.environ.setdefault(_THREADS_VARIABLE, str(max(count, Target().core_count)))
        big_cores_first = 1
        tvm.get_global_func("runtime.config_threadpool")(big_cores_first, count)
        _used.count = count
