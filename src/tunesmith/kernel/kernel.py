"""A kernel: a built program that a user calls on arrays, saves, and loads again."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

from tunesmith.compiler.aarch64 import missing_on_aarch64
from tunesmith.compiler.compile import compiled
from tunesmith.cuda.executable import gpu_executable, takes_memory
from tunesmith.errors import TunesmithError, UsageError, last_line
from tunesmith.kernel import arrays, calling, files, gpu_arrays, gpu_calling
from tunesmith.kernel.calling import Calling, CpuCalling
from tunesmith.kernel.files import Description
from tunesmith.kernel.gpu_calling import GpuCalling
from tunesmith.kernel.prepared import PreparedKernel
from tunesmith.operators import Argument, Operator, WeightedOperator
from tunesmith.sketches.tir.weights import (
    PREPARE,
    WEIGHT,
    has_constant_weights,
    prepared_weights,
    with_weights,
    without_weights,
)
from tunesmith.space import Config
from tunesmith.target import Target, host_instructions, instructions


class Kernel:
    """A callable over the operator's arguments. ``build`` and ``load`` make it.

    Call it with arrays in the order of ``operator.arguments``: NumPy arrays, or other tensors with
    DLPack such as PyTorch's. It returns a new array of the first input's library, or fills ``out``,
    which may be one of the inputs. Arrays must be in main memory and have the argument's type and
    shape. They need no alignment; those not in C order are copied. The kernel runs on as many
    threads as the target has cores, and several Python threads may call it at once.

    For a GPU, all arrays are in main memory or all on one GPU. From main memory they are copied to
    the GPU, and the result back. With arrays on a GPU the result is on that GPU, too. If the first
    one is PyTorch's, the call runs on PyTorch's current stream, and may return before it has ended.

    If the operator has constant weights, ``prepare`` lays them out once and returns a callable over
    the other arguments; a call of the kernel itself lays them out each time.

    Calling raises ``UsageError`` for arrays that do not fit, and ``TunesmithError`` on a processor
    that lacks instructions that the kernel was compiled for, or a GPU of another generation.
    """

    def __init__(self, description: Description, module: Any, program: Any | None = None) -> None:
        """``module`` is TVM's, built from ``program``, or loaded if that is None."""
        self.operator = description.operator
        self.target = description.target
        self.config = description.config
        self.processor = description.processor
        self.arch = description.arch
        self._description = description
        self._module = module
        self._program = program

    def __call__(self, *inputs: Any, out: Any | None = None) -> Any:
        return self._call(inputs, out)

    @classmethod
    def build(
        cls, operator: Operator, target: Target, program: Any, config: Config | None = None
    ) -> Self:
        """Compile a scheduled module.

        Raises ``TunesmithError`` if the compiler fails, ``UsageError`` if it does not know the
        target's processor, and ``MissingDependencyError`` for a GPU without nvcc. A GPU kernel can
        be built and saved on any machine; where it cannot be called, calls say why.
        """
        module = _compiled(target, program)
        gpu = target.kind == "cuda"
        description = Description(
            operator,
            target,
            config,
            target.processor,
            arch=target.gpu_arch if gpu else None,
            workspace=gpu and takes_memory(module),
            prepared=prepared_weights(program),
            alignment=arrays.ALIGNMENT if gpu else 1,
            instructions=tuple(sorted(target.instructions)),
        )
        return cls(description, module, program)

    def prepare(self, weights: Any) -> PreparedKernel:
        """Lay constant weights out once, and return a kernel over the other arguments.

        Raises ``UsageError`` for an operator without constant weights and for an array that does
        not fit, and ``TunesmithError`` like a call.
        """
        operator = self.operator
        if not isinstance(operator, WeightedOperator):
            raise UsageError(f"{operator.name} has no weights to prepare: call the kernel itself")
        if not has_constant_weights(operator):
            raise UsageError(
                f"the weights of this {operator.name} may change with each call: to prepare them, "
                "tune the operator with constant_weights=True"
            )
        main, plain = self._function("main"), operator.arguments[WEIGHT]
        prepared, alignment = self._description.prepared, self._description.alignment
        prepare = None if prepared is None else self._function(PREPARE)
        if self.arch is None:
            cores = self.target.core_count
            weight = calling.laid_out(
                weights, plain, prepared, prepare, cores=cores, alignment=alignment
            )
        else:
            weight = gpu_calling.laid_out(weights, plain, prepared, prepare, self.arch)
        name = f"{operator.name} with prepared weights"
        rest = self._new_calling(name, main, without_weights(operator.arguments), {WEIGHT: weight})
        return PreparedKernel(operator, self.target, self.config, rest)

    def bind(self, *inputs: Any) -> Callable[[], None]:
        """A call without checks on copies of these arrays, into one buffer: for timing.

        On a GPU it waits for the GPU. Raises ``UsageError`` for arrays that do not fit.
        """
        return self._calling.bind(inputs)

    def source(self, kind: str, function: str | None = None) -> str:
        """The compiled program as text: LLVM-IR (``ll``) or assembly (``asm``) for a CPU, CUDA C++
        (``cuda``) for a GPU.

        For a CPU, ``function`` selects one function: ``main``, or ``prepare`` where constant
        weights are laid out beforehand. Raises ``UsageError`` for another kind or function, and for
        a kernel that was loaded.
        """
        if self.arch is not None and kind != "cuda":
            raise UsageError(f"the source of a kernel for a GPU is cuda (CUDA C++), not {kind}")
        if self.arch is None and kind not in ("ll", "asm"):
            raise UsageError(f"a kernel's source is ll (LLVM-IR) or asm (assembly), not {kind}")
        if self._program is None:
            raise UsageError("a loaded kernel has no source: ask the one that was compiled")
        functions = ("main",) if self._description.prepared is None else ("main", "prepare")
        if function not in (None, *functions):
            known = " and ".join(functions)
            raise UsageError(f"the kernel has no function {function}, but {known}")
        module = self._module
        if self.arch is not None:
            return str(module.mod.imports[0].inspect_source(kind))
        if function is not None and self._description.prepared is not None:
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
        prepared = self._description.prepared
        function = self._function("main") if prepared is None else self._preparing(prepared)
        return self._new_calling(operator.name, function, operator.arguments, {})

    def _new_calling(
        self,
        name: str,
        function: Callable[..., None],
        arguments: Sequence[Argument],
        constants: Mapping[int, Any],
    ) -> Calling:
        """``constants`` are tensors on the device that the kernel runs on."""
        fields: dict[str, Any] = {
            "name": name,
            "function": function,
            "arguments": arguments,
            "result": self.operator.result,
            "constants": constants,
        }
        if self.arch is None:
            cores = self.target.core_count
            return CpuCalling(**fields, cores=cores, alignment=self._description.alignment)
        gpu = next((constant.device.index for constant in constants.values()), None)
        return GpuCalling(**fields, arch=self.arch, gpu=gpu)

    def _preparing(self, prepared: Argument) -> Callable[..., None]:
        """A function that calls ``prepare``, then ``main``."""
        prepare, main = self._function(PREPARE), self._function("main")

        def call(*tensors: Any) -> None:
            weight = tensors[WEIGHT]
            # If the program reads elements that it did not write, the result must show it.
            if self.arch is None:
                filled = arrays.poisoned_tensor(prepared)
            else:
                filled = gpu_arrays.poisoned_tensor(prepared, weight.device.index)
            prepare(weight, filled)
            main(*with_weights(tensors, filled))
            if self.arch is not None:
                gpu_arrays.wait(filled)  # its memory is freed on return

        return call

    def _function(self, name: str) -> Any:
        """A function of the module. Raises ``TunesmithError`` if it cannot run here."""
        self._check_processor()
        try:
            function = self._module[name]
        except TunesmithError:
            raise
        except Exception as error:
            raise TunesmithError(f"the program cannot be called: {last_line(error)}") from error
        return gpu_calling.in_turn(function) if self._description.workspace else function

    def _check_processor(self) -> None:
        """Raises ``TunesmithError`` if an instruction is missing, which would kill the process."""
        if self.target.architecture != platform.machine():
            raise TunesmithError(
                f"the kernel is for {self.target.triple}: save it, and load it on such a machine"
            )
        needed, here = self._description.instructions, ""
        if needed is not None and platform.machine() == "aarch64":
            missing = missing_on_aarch64(needed)  # LLVM may not be here
        else:
            own = Target(self.target.kind).processor
            missing, here = {*instructions(self.processor) - host_instructions()}, f" ({own})"
        if missing:
            raise TunesmithError(
                f"the kernel was compiled for {self.processor} and needs "
                f"{', '.join(sorted(missing))}, which this processor{here} lacks: compile it here"
            )

    # -- files -----------------------------------------------------------------------------------

    def save(self, path: str | Path) -> list[Path]:
        """Write a shared library, and beside it a C header and a JSON description.

        ``path`` is the library's; the others have its name with ``.h`` and ``.json``. Returns all
        three paths. Creates the folder if needed. Raises ``UsageError`` for a path that cannot be a
        library's and for a loaded kernel, ``MissingDependencyError`` without a C compiler (it
        links), and ``TunesmithError`` if linking fails or a file cannot be written.
        """
        if self._program is None:
            raise UsageError("a loaded kernel is saved already: copy its files")
        return files.write(Path(path), self._module, self._description)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a kernel from the library that ``save`` wrote, and the JSON beside it.

        Raises ``TunesmithError`` if one of them is missing or invalid, if this processor lacks
        instructions that the kernel needs, or if no GPU here runs it; ``UsageError`` if there is no
        GPU, and ``MissingDependencyError`` without CUDA's runtime.
        """
        module, description = files.read(path)
        kernel = cls(description, module)
        kernel._check_processor()
        return kernel

    def describe(self) -> dict[str, Any]:
        """The content of the JSON file beside a saved library."""
        return self._description.to_json()


def _compiled(target: Target, program: Any) -> Any:
    """TVM's executable of a module. Raises like ``Kernel.build``."""
    tvm_target = target.to_tvm()
    try:
        if target.kind == "cuda":
            return gpu_executable(partial(compiled, program, tvm_target), target.gpu_arch)
        return compiled(program, tvm_target)
    except TunesmithError:
        raise
    except Exception as error:
        raise TunesmithError(f"the compiler failed: {last_line(error)}") from error
