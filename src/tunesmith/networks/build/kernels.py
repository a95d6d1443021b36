"""The programs of a network's layers, compiled for a network to call."""

from __future__ import annotations

import platform
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from tunesmith.compiler.compile import compiled
from tunesmith.cuda.executable import without_compiling
from tunesmith.errors import TunesmithError, last_line
from tunesmith.kernel import arrays, calling
from tunesmith.networks.build.selection import Choice
from tunesmith.networks.graph import Array, Value
from tunesmith.networks.processors import runs_here
from tunesmith.operators import Argument
from tunesmith.sketches.tir.weights import PREPARE, WEIGHT, prepared_weights
from tunesmith.target import Target


@dataclass(frozen=True)
class LayerKernel:
    """The compiled program of a choice: the function ``name`` in ``module``.

    If its weights are laid out first, ``prepared`` describes them, and the function ``prepare`` of
    ``preparing`` does it.
    """

    name: str
    choice: Choice
    module: Any
    prepared: Argument | None
    preparing: Any = None
    _laid_out: dict[Value, Value] = field(default_factory=dict)

    def weights(self, value: Value) -> Value:
        """A constant of weights as the function takes them; the same for the same value."""
        if self.prepared is None:
            return value
        if value not in self._laid_out:
            operator, target = self.choice.problem.task.operator, self.choice.problem.task.target
            argument, prepare = operator.arguments[WEIGHT], self.preparing[PREPARE]
            array: Array = value.constant.reshape(argument.shape)  # type: ignore[union-attr]
            filled = calling.laid_out(
                array, argument, self.prepared, prepare, cores=target.core_count
            )
            self._laid_out[value] = Value.of(arrays.as_numpy(filled), value.name)
        return self._laid_out[value]

    def without_weights(self) -> Self:
        """The same kernel, which has laid out none yet."""
        return replace(self, _laid_out={})


@dataclass(frozen=True, eq=False, kw_only=True)
class Prepared(Value):
    """Weights as the function ``function`` lays them out, once the network is where it runs.

    It takes ``raw`` in the shape ``taken``.
    """

    raw: Value
    taken: tuple[int, ...]
    function: str


@dataclass(frozen=True)
class GpuLayerKernel(LayerKernel):
    """A kernel for a GPU, which may not be on this machine: ``module`` has the function that lays
    out the weights, too."""

    def weights(self, value: Value) -> Value:
        if self.prepared is None:
            return value
        if value not in self._laid_out:
            self._laid_out[value] = Prepared(
                self.prepared.shape,
                self.prepared.dtype,
                value.name,
                raw=value,
                taken=self.choice.problem.task.operator.arguments[WEIGHT].shape,
                function=_prepare_of(self.name),
            )
        return self._laid_out[value]


def layer_kernel(name: str, choice: Choice) -> LayerKernel:
    """Compile a choice in this process. Raises ``InstantiationError`` and ``TunesmithError`` like a
    kernel.

    The function does not check its arguments: the network has checked its inputs, and makes the
    rest itself.
    """
    import tvm

    if choice.problem.task.target.kind == "cuda":
        return gpu_layer_kernel(name, choice)
    target = choice.problem.task.target.to_tvm()
    program = choice.problem.program(choice.config)
    prepared = prepared_weights(program)
    try:
        main = tvm.IRModule({name: program["main"].with_attr("global_symbol", name)})
        module = compiled(main, target, checked=False).mod
        preparing = None
        if prepared is not None:
            alone = tvm.IRModule({PREPARE: program[PREPARE]})
            preparing = compiled(alone, _where_prepared(choice).to_tvm()).mod
    except TunesmithError:
        raise
    except Exception as error:
        raise TunesmithError(f"{name} cannot be compiled: {last_line(error)}") from error
    return LayerKernel(name, choice, module, prepared, preparing)


def _where_prepared(choice: Choice) -> Target:
    """The target of the function that lays out weights: it runs in this process, also where the
    network is for another processor than this machine's."""
    target = choice.problem.task.target
    return target if runs_here(target) else replace(target, mcpu=None, triple=None)


def gpu_layer_kernel(name: str, choice: Choice) -> GpuLayerKernel:
    """The same for a GPU. Its CUDA code is compiled with that of the network."""
    import tvm

    program = choice.problem.program(choice.config)
    known = {variable.name_hint: variable for variable in program.get_global_vars()}
    functions = {
        renamed: program[known[function]].with_attr("global_symbol", renamed)
        for function, renamed in (("main", name), (PREPARE, _prepare_of(name)))
        if function in known
    }
    try:
        with without_compiling():
            module = compiled(
                tvm.IRModule(functions), choice.problem.task.target.to_tvm(), checked=False
            ).mod
    except TunesmithError:
        raise
    except Exception as error:
        raise TunesmithError(f"{name} cannot be compiled: {last_line(error)}") from error
    return GpuLayerKernel(name, choice, module, prepared_weights(program))


def _prepare_of(name: str) -> str:
    return f"{name}_{PREPARE}"


@dataclass(frozen=True)
class Code:
    """A kernel for a CPU on its way from the process that compiled it: LLVM's code as text.

    ``preparing`` is empty if weights are not laid out.
    """

    main: str
    prepared: Argument | None
    preparing: str

    @classmethod
    def of(cls, name: str, choice: Choice) -> Code:
        """Compile a choice. Raises like ``layer_kernel``."""
        kernel = layer_kernel(name, choice)
        # Make machine code: should LLVM crash, it does so here.
        if choice.problem.task.target.architecture == platform.machine():
            kernel.module[name]
        else:
            kernel.module.inspect_source("asm")
        preparing = "" if kernel.preparing is None else _text(kernel.preparing)
        return cls(_text(kernel.module), kernel.prepared, preparing)

    def kernel(self, name: str, choice: Choice) -> LayerKernel:
        """The kernel in this process."""
        preparing = None if self.prepared is None else _module(self.preparing)
        return LayerKernel(name, choice, _module(self.main), self.prepared, preparing)


def _text(module: Any) -> str:
    with tempfile.TemporaryDirectory(prefix="tunesmith-") as folder:
        path = Path(folder) / "kernel.ll"
        module.write_to_file(str(path))
        return path.read_text(encoding="utf-8")


def _module(text: str) -> Any:
    import tvm

    with tempfile.TemporaryDirectory(prefix="tunesmith-") as folder:
        path = Path(folder) / "kernel.ll"
        path.write_text(text, encoding="utf-8")
        return tvm.runtime.load_module(str(path))
