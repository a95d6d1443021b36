"""What is different for a CPU and for a GPU when a program is built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from tunesmith.compiler import compiled
from tunesmith.errors import TunesmithError
from tunesmith.operators import Argument
from tunesmith.sketches.weights import PREPARE, prepared_weights
from tunesmith.target import Target


class DeviceCodeError(TunesmithError):
    """The compiler of the device's own code refuses it."""


@dataclass(frozen=True)
class Build:
    """What is to be built: a program, for a ``tvm.target.Target``, and the program's hash."""

    program: Any
    target: Any
    hash: str


@dataclass(frozen=True)
class BuiltProgram:
    """What came of it: for a CPU TVM's module and its functions, for a GPU its code.

    ``prepare`` is there if weights are laid out once, as ``weights`` says. ``resources`` is what
    the program takes of the device where the compiler tells, and ``code`` where its machine code is
    and how it is called; both as JSON.
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


def device_of(target: Target) -> Device:
    """The device of a target."""
    if target.kind == "cuda":
        from tunesmith.measure.cuda_device import CudaDevice

        return CudaDevice(target.gpu_arch)
    return CpuDevice()


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

    def build(self, build: Build) -> BuiltProgram:
        module = compiled(build.program, build.target).jit()
        weights = prepared_weights(build.program)
        # TVM generates code at the look-up.
        prepare = None if weights is None else module[PREPARE]
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
