"""The device-dependent part of builds: the protocol, and its implementation for CPUs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tunesmith.compiler.compile import compiled
from tunesmith.compiler.libraries import link, load
from tunesmith.errors import TunesmithError
from tunesmith.operators import Argument
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.weights import PREPARE, prepared_weights


class DeviceCodeError(TunesmithError):
    """The compiler of the device's code failed."""


@dataclass(frozen=True)
class Build:
    """A program to build for a ``tvm.target.Target``, and its hash.

    ``weights`` is the file that caches its prepared weights, None if it has none. ``library`` is
    the file that keeps the machine code, for programs that are built on one machine and run on
    another: it is taken from there, or written there if there is no such file. Devices that have a
    cache of machine code leave it alone.
    """

    program: Any
    target: Any
    hash: str
    weights: Path | None = None
    library: Path | None = None


@dataclass(frozen=True)
class BuiltProgram:
    """A built program: TVM's module and its functions for a CPU, ``code`` for a GPU.

    ``weights`` is the tensor of prepared weights, None if there is none. ``prepare`` computes it;
    if that is None, an earlier trial has cached it. ``resources`` are the device's resources that
    the program uses, if the compiler reports them. ``code`` is the path of the machine code and its
    launches. Both are JSON-ready.
    """

    module: Any = None
    main: Any = None
    prepare: Any = None
    weights: Argument | None = None
    resources: dict[str, Any] | None = None
    code: dict[str, Any] | None = None


class Device(Protocol):
    """A device that programs are built for."""

    def warm_up(self, target: Any) -> None:
        """Load the compiler's passes and back end. Must not run a kernel: a fork follows.

        Raises ``UsageError`` if nothing can be built for the device.
        """
        ...

    def build(self, build: Build) -> BuiltProgram:
        """Compile a program.

        Raises ``DeviceCodeError`` if the device's code does not compile, else what TVM raises.
        """
        ...

    def compile_check(
        self, output: Any, reference: Any, tolerance: tuple[float, float]
    ) -> bytes | None:
        """Machine code that compares outputs with a reference on the device.

        ``output`` is their NumPy type, ``tolerance`` is (relative, absolute). None if NumPy
        compares. Raises like ``build``.
        """
        ...


class CpuDevice:
    """This machine's CPU."""

    def warm_up(self, target: Any) -> None:
        import tvm

        schedule = small_schedule()
        i, j, _ = schedule.get_loops(schedule.get_sblock("b"))
        outer, inner = schedule.split(i, [4, 4])
        schedule.parallel(outer)
        schedule.unroll(inner)
        schedule.vectorize(j)
        tvm.compile(schedule.mod, target=target).jit()["main"]
        compiled(_small_loops(), target, checked=False).jit()["main"]

    def build(self, build: Build) -> BuiltProgram:
        import tvm

        program, weights = build.program, prepared_weights(build.program)
        cached = build.weights is not None and build.weights.exists()
        if build.library is not None:
            module = _from_library(program, build.target, build.library)
        else:
            if cached:
                program = tvm.IRModule({"main": program["main"]})
            module = compiled(program, build.target, checked=False).jit()
        # TVM generates code at the look-up of a function.
        prepare = None if weights is None or cached else module[PREPARE]
        return BuiltProgram(module, module["main"], prepare, weights)

    def compile_check(self, *_: Any) -> None:
        """NumPy compares."""


def _from_library(program: Any, target: Any, library: Path) -> Any:
    """The module of a library, which is made if there is none."""
    if not library.exists():
        link(compiled(program, target, checked=False), library)
    return load(library)


def small_schedule() -> Any:
    """An unscheduled matrix product with the block ``b`` and its loops i, j and k."""
    import tvm
    from tvm import te

    a = te.placeholder((16, 16), name="a")
    k = te.reduce_axis((0, 16), name="k")
    b = te.compute((16, 16), lambda i, j: te.sum(a[i, k] * a[k, j], axis=k), name="b")
    return tvm.s_tir.Schedule(te.create_prim_func([a, b]))


def _small_loops() -> Any:
    """A program of plain loops, as sketches without schedules write them."""
    vector = [Argument(name, (64,), "float32") for name in "ab"]
    with (
        emit.module() as made,
        emit.function("main", vector) as (a, b),
        emit.parallel(2, "i") as i,
        emit.serial(2, "j") as j,
    ):
        place = emit.bind("place", i * 32 + j * 16)
        emit.store(b, emit.load(a, [place], 16), [place], 16)
    return made[0]
