"""What every trial inherits from the server: computed once, before the first trial is forked."""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.errors import UsageError
from tunesmith.measure.job import Job
from tunesmith.measure.verify import find_mismatch, poison_like

_SEED = 0


@dataclass(frozen=True)
class Prepared:
    """The job, the target as TVM knows it, the inputs as TVM tensors, and what must come out.

    ``reference`` and ``poison`` (see ``poison_like``) are None where outputs are not verified.
    """

    job: Job
    target: Any
    inputs: list[Any]
    reference: npt.NDArray[Any] | None
    poison: npt.NDArray[Any] | None

    @classmethod
    def of(cls, job: Job) -> Prepared:
        """Warm TVM up, make the inputs, compute the reference.

        No kernel may run here: TVM's threads would not survive the fork.
        """
        import tvm

        if not job.sketch.supports(job.operator, job.target):
            raise UsageError(
                f"the sketch '{job.sketch.name}' cannot schedule {job.operator.key} "
                f"on {job.target.key}: take another sketch"
            )
        target = job.target.to_tvm()
        _build_something(target)
        arrays = job.operator.make_inputs(_SEED)
        reference = job.operator.reference(*arrays) if job.settings.verify else None
        prepared = cls(
            job=job,
            target=target,
            inputs=[tvm.runtime.tensor(array) for array in arrays],
            reference=reference,
            poison=None if reference is None else poison_like(reference),
        )
        _rehearse(prepared)
        # Collected objects would write to memory that parent and children share until then.
        gc.collect()
        gc.freeze()
        return prepared

    def new_output(self) -> Any:
        """A tensor for the result, filled with the poison."""
        import tvm

        if self.poison is not None:
            return tvm.runtime.tensor(self.poison)
        result = self.job.operator.result
        output = tvm.runtime.empty(result.shape, result.dtype)
        output.copyfrom(np.zeros(result.shape, output.numpy().dtype))
        return output


def load_compiler() -> None:
    """Import TVM, but not PyTorch, which TVM imports wherever it is installed.

    That takes three times as long to start and to fork, and trials have no use for it.
    """
    sys.modules["torch"] = None  # type: ignore[assignment] # the import system's "there is none"
    try:
        import tvm  # noqa: F401
    finally:
        del sys.modules["torch"]


def _rehearse(prepared: Prepared) -> None:
    """Do once what needs no kernel: NumPy loads parts of itself at their first use.

    In a trial that would come on top of the run, which has the machine to itself.
    """
    from tvm.runtime.module import BenchmarkResult

    BenchmarkResult((1.0,))
    if prepared.reference is not None:
        find_mismatch(prepared.new_output().numpy(), prepared.reference, 0.0, 0.0)


def _build_something(target: Any) -> None:
    """Build a program to have the compiler's passes and back end loaded and initialised."""
    import tvm
    from tvm import te

    a = te.placeholder((16, 16), name="a")
    k = te.reduce_axis((0, 16), name="k")
    b = te.compute((16, 16), lambda i, j: te.sum(a[i, k] * a[k, j], axis=k), name="b")
    schedule = tvm.s_tir.Schedule(te.create_prim_func([a, b]))
    i, j, _ = schedule.get_loops(schedule.get_sblock("b"))
    outer, inner = schedule.split(i, [4, 4])
    schedule.parallel(outer)
    schedule.unroll(inner)
    schedule.vectorize(j)
    tvm.compile(schedule.mod, target=target).jit()["main"]
