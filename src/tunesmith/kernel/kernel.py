"""A kernel: a built program that a user calls on arrays, saves, and loads again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

from tunesmith.compiler.compile import compiled
from tunesmith.cuda.executable import gpu_executable, takes_memory
from tunesmith.errors import TunesmithError, UsageError, last_line
from tunesmith.kernel import arrays, calling, files, gpu_arrays, gpu_calling
from tunesmith.kernel.calling import Calling, CpuCalling
from tunesmith.kernel.files import Description
from tunesmith.kernel.gpu_calling import GpuCalling
from tunesmith.kernel.prepared import PreparedKernel
from tunesmith.operators import Argument, Operator, ProductOperator
from tunesmith.sketches.tir.weights import (
    PREPARE,
    WEIGHT,
    has_constant_weights,
    prepared_weights,
    with_weights,
    without_weights,
)
from tunesmith.space import Config
from tunesmith.target import Target, instructions


class Kernel:
    """A callable over the operator's arguments.

    Call it with arrays in the order of ``operator.arguments``: NumPy arrays, or any tensors with
    DLPack (PyTorch's, say). It returns a new array of the kind of the first one, or fills ``out``,
    which may be one of the inputs. Arrays must be in main memory and of the argument's type and
    shape. They may start anywhere; those that are not in C order are copied. It runs on as many
    threads as the target has cores, and several threads of Python may call it at once.

    For a GPU, arrays are all in main memory or all on one GPU. The former are copied there and the
    result back. With the latter the result is on that GPU, too, and the call runs on PyTorch's
    current stream if the first array is PyTorch's, and may return before it has ended.

    Where the operator has constant weights, ``prepare`` lays them out once and gives a callable
    over the other arguments; a call of the kernel itself does so anew each time.

    Calling raises ``UsageError`` for arrays that do not fit, and ``TunesmithError`` on a processor
    that lacks instructions that the kernel was compiled for, or a GPU of another generation.
    """

    def __init__(
        self,
        operator: Operator,
        target: Target,
        config: Config | None,
        module: Any,
        processor: str | None = None,
        *,
        arch: str | None = None,
        workspace: bool = False,
        prepared: Argument | None = None,
        alignment: int | None = None,
    ) -> None:
        """``module`` is what TVM built or loaded, for ``processor`` and the ``arch`` of a GPU; None
        means the target's.

        ``workspace`` says that it takes memory of the GPU for what is between its launches.
        ``prepared`` is what its function ``prepare`` makes of the weights; None: there is no such
        function. Its functions take arrays at multiples of ``alignment`` bytes; None: as they are
        compiled now, anywhere on a processor.
        """
        self.operator = operator
        self.target = target
        self.config = config
        self.processor = processor or target.processor
        self.arch = (arch or target.gpu_arch) if target.kind == "cuda" else None
        self._module = module
        self._workspace = workspace
        self._prepared = prepared
        here = 1 if self.arch is None else arrays.ALIGNMENT
        self._alignment = here if alignment is None else alignment
        # What was compiled; None for a kernel that was loaded.
        self._program: Any | None = None

    def __call__(self, *inputs: Any, out: Any | None = None) -> Any:
        return self._call(inputs, out)

    @classmethod
    def build(
        cls, operator: Operator, target: Target, program: Any, config: Config | None = None
    ) -> Self:
        """Compile a scheduled module.

        Raises ``TunesmithError`` if the compiler fails, ``UsageError`` if it does not know the
        target's processor, and ``MissingDependencyError`` for a GPU without nvcc. A kernel for a
        GPU is built and saved on any machine; where it cannot be called, calls say why.
        """
        module = _compiled(target, program)
        kernel = cls(
            operator,
            target,
            config,
            module,
            workspace=target.kind == "cuda" and takes_memory(module),
            prepared=prepared_weights(program),
        )
        kernel._program = program
        return kernel

    def prepare(self, weights: Any) -> PreparedKernel:
        """Lay the weights out once: a kernel over the other arguments, for an operator with
        constant weights.

        Raises ``UsageError`` for another operator and for an array that does not fit, and
        ``TunesmithError`` like a call.
        """
        operator = self.operator
        if not isinstance(operator, ProductOperator):
            raise UsageError(f"{operator.name} has no weights to prepare: call the kernel itself")
        if not has_constant_weights(operator):
            raise UsageError(
                f"the weights of this {operator.name} may change with each call: to prepare them, "
                "tune the operator with constant_weights=True"
            )
        main, plain = self._function("main"), operator.arguments[WEIGHT]
        prepare = None if self._prepared is None else self._function(PREPARE)
        if self.arch is None:
            cores = self.target.core_count
            weight = calling.laid_out(
                weights, plain, self._prepared, prepare, cores=cores, alignment=self._alignment
            )
        else:
            weight = gpu_calling.laid_out(weights, plain, self._prepared, prepare, self.arch)
        name = f"{operator.name} with prepared weights"
        rest = self._new_calling(name, main, without_weights(operator.arguments), {WEIGHT: weight})
        return PreparedKernel(operator, self.target, self.config, rest)

    def bind(self, *inputs: Any) -> Callable[[], None]:
        """A call on copies of these arrays into one buffer, with nothing left to check: for timing.

        On a GPU it waits until it has ended. Raises ``UsageError`` for arrays that do not fit.
        """
        return self._calling.bind(inputs)

    def source(self, kind: str, function: str | None = None) -> str:
        """The compiled program as text: ``ll`` for LLVM-IR, ``asm`` for assembly; for a GPU
        ``cuda``, its CUDA C++.

        All of it, or on a processor one ``function`` alone (``main``, or ``prepare`` where there is
        one). Raises ``UsageError`` for another kind, and for a kernel that was loaded.
        """
        if self.arch is not None and kind != "cuda":
            raise UsageError(f"the source of a kernel for a GPU is cuda (CUDA C++), not {kind}")
        if self.arch is None and kind not in ("ll", "asm"):
            raise UsageError(f"a kernel's source is ll (LLVM-IR) or asm (assembly), not {kind}")
        if self._program is None:
            raise UsageError("a loaded kernel has no source: ask the one that was compiled")
        module = self._module
        if self.arch is not None:
            return str(module.mod.imports[0].inspect_source(kind))
        if function is not None and self._prepared is not None:
            import tvm

            alone = tvm.IRModule({function: self._program[function]})
            module = _compiled(self.target, alone)
        return str(module.mod.inspect_source(kind))

    @cached_property
    def _call(self) -> Callable[[Sequence[Any], Any | None], Any]:
        return self._calling.call

    @cached_property
    def _calling(self) -> Calling:
        operator = self.operator
        function = self._function("main") if self._prepared is None else self._preparing()
        return self._new_calling(operator.name, function, operator.arguments, {})

    def _new_calling(
        self,
        name: str,
        function: Callable[..., None],
        arguments: Sequence[Argument],
        constants: Mapping[int, Any],
    ) -> Calling:
        """``constants`` are tensors, where the kernel runs."""
        fields: dict[str, Any] = {
            "name": name,
            "function": function,
            "arguments": arguments,
            "result": self.operator.result,
            "constants": constants,
        }
        if self.arch is None:
            cores = self.target.core_count
            return CpuCalling(**fields, cores=cores, alignment=self._alignment)
        gpu = next((constant.device.index for constant in constants.values()), None)
        return GpuCalling(**fields, arch=self.arch, gpu=gpu)

    def _preparing(self) -> Callable[..., None]:
        """Both functions one after the other."""
        prepare, main, prepared = self._function(PREPARE), self._function("main"), self._prepared
        assert prepared is not None

        def call(*tensors: Any) -> None:
            weight = tensors[WEIGHT]
            # What a program leaves unset there must not matter, whatever the memory held before.
            if self.arch is None:
                filled = arrays.poisoned_tensor(prepared)
            else:
                filled = gpu_arrays.poisoned_tensor(prepared, weight.device.index)
            prepare(weight, filled)
            main(*with_weights(tensors, filled))
            if self.arch is not None:
                gpu_arrays.wait(filled)  # which is gone afterwards

        return call

    def _function(self, name: str) -> Any:
        """Raises ``TunesmithError`` where it cannot run."""
        self._check_processor()
        try:
            function = self._module[name]
        except TunesmithError:
            raise
        except Exception as error:
            raise TunesmithError(f"the program cannot be called: {last_line(error)}") from error
        return gpu_calling.in_turn(function) if self._workspace else function

    def _check_processor(self) -> None:
        """Without its instructions the kernel would take the whole process down."""
        here = Target(self.target.kind).processor
        missing = sorted(instructions(self.processor) - instructions(here))
        if missing:
            raise TunesmithError(
                f"the kernel was compiled for {self.processor} and needs {', '.join(missing)}, "
                f"which this processor ({here}) has not: compile it here"
            )

    # -- files -----------------------------------------------------------------------------------

    def save(self, path: str | Path) -> list[Path]:
        """Write a shared library, a C header and a JSON description side by side.

        ``path`` is the library's; the others take its name with ``.h`` and ``.json``. Returns all
        three. Raises ``UsageError`` for a name that is no library's, ``MissingDependencyError``
        without a C compiler (it links), and ``TunesmithError`` if linking fails or a file cannot be
        written. The folder is made if there is none.
        """
        if self._program is None:
            raise UsageError("a loaded kernel is saved already: copy its files")
        return files.write(Path(path), self._module, self._description)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A kernel from the files that ``save`` wrote: the library, and the JSON beside it.

        Raises ``TunesmithError`` if one of them is missing or is not such a file, and if this
        processor lacks instructions that the kernel needs, or no GPU here runs it; ``UsageError``
        where there is no GPU, and ``MissingDependencyError`` without CUDA's runtime.
        """
        module, saved = files.read(path)
        kernel = cls(
            saved.operator,
            saved.target,
            saved.config,
            module,
            saved.processor,
            arch=saved.arch,
            workspace=saved.workspace,
            prepared=saved.prepared,
            alignment=saved.alignment,
        )
        kernel._check_processor()
        return kernel

    def describe(self) -> dict[str, Any]:
        """What the JSON beside a saved library says."""
        return self._description.to_json()

    @property
    def _description(self) -> Description:
        return Description(
            self.operator,
            self.target,
            self.config,
            self.processor,
            self.arch,
            self._workspace,
            self._prepared,
            self._alignment,
        )


def _compiled(target: Target, program: Any) -> Any:
    """What TVM makes of a module. Raises as ``Kernel.build`` does."""
    tvm_target = target.to_tvm()
    try:
        if target.kind == "cuda":
            return gpu_executable(partial(compiled, program, tvm_target), target.gpu_arch)
        return compiled(program, tvm_target)
    except TunesmithError:
        raise
    except Exception as error:
        raise TunesmithError(f"the compiler failed: {last_line(error)}") from error
