"""What is different for a CPU and for a GPU when a program is built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tunesmith.compiler.compile import compiled
from tunesmith.errors import TunesmithError
from tunesmith.operators import Argument
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.weights import PREPARE, prepared_weights


class DeviceCodeError(TunesmithError):
    """The compiler of the device's own code refuses it."""


@dataclass(frozen=True)
class Build:
    """What is to be built: a program, for a ``tvm.target.Target``, and the program's hash.

    ``weights`` is where its weights are kept once they are laid out, None if it has none.
    """

    program: Any
    target: Any
    hash: str
    weights: Path | None = None


@dataclass(frozen=True)
class BuiltProgram:
    """What came of it: for a CPU TVM's module and its functions, for a GPU its code.

    ``weights`` is there if weights are laid out once: by ``prepare``, or where that is None as an
    earlier trial has left them. ``resources`` is what the program takes of the device where the
    compiler tells, and ``code`` where its machine code is and how it is called; both as JSON.
    """

    module: Any = None
    main: Any = None
    prepare: Any = None
    weights: Argument | None = None
    resources: dict[str, Any] | None = None
    code: dict[str, Any] | None = None


class Device(Protocol):
    """What programs are built for."""

    def warm_up(self, target: Any) -> None:
        """Load the compiler's passes and back end. Runs nothing: a fork is to follow.

        Raises ``UsageError`` where nothing can be built for the device.
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
        """Machine code that compares outputs of a NumPy type with a reference on the device.

        None where NumPy does that. Raises like ``build``.
        """
        ...


class CpuDevice:
    """This machine's processor."""

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
        kept = build.weights is not None and build.weights.exists()
        if kept:
            program = tvm.IRModule({"main": program["main"]})
        module = compiled(program, build.target, checked=False).jit()
        # TVM generates code at the look-up.
        prepare = None if weights is None or kept else module[PREPARE]
        return BuiltProgram(module, module["main"], prepare, weights)

    def compile_check(self, *_: Any) -> None:
        """NumPy compares."""


def small_schedule() -> Any:
    """A product to be scheduled: its block is named ``b`` and has the loops i, j and k."""
    import tvm
    from tvm import te

    a = te.placeholder((16, 16), name="a")
    k = te.reduce_axis((0, 16), name="k")
    b = te.compute((16, 16), lambda i, j: te.sum(a[i, k] * a[k, j], axis=k), name="b")
    return tvm.s_tir.Schedule(te.create_prim_func([a, b]))


def _small_loops() -> Any:
    """A program as sketches write them that need no schedule."""
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
