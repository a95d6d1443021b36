"""What every trial inherits from the server: computed once, before the first trial is forked."""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.errors import UsageError
from tunesmith.measure.devices.device import CpuDevice, Device
from tunesmith.measure.trial.job import Job
from tunesmith.measure.trial.kept_weights import KeptWeights
from tunesmith.measure.trial.verify import find_mismatch, poison_like
from tunesmith.target import Target

_SEED = 0


@dataclass(frozen=True)
class Prepared:
    """The job, the device, the target as TVM knows it, inputs as TVM tensors, what must come out.

    ``reference`` and ``poison`` (see ``poison_like``) are None where outputs are not verified;
    ``check`` is the machine code that compares with the reference on a device with its own memory,
    ``kept`` has the weights that trials have laid out.
    """

    job: Job
    device: Device
    target: Any
    inputs: list[Any]
    reference: npt.NDArray[Any] | None
    poison: npt.NDArray[Any] | None
    check: bytes | None = None
    kept: KeptWeights = field(default_factory=KeptWeights.of_new_folder)

    @classmethod
    def of(cls, job: Job) -> Prepared:
        """Warm TVM up, make the inputs, compute the reference.

        No kernel may run here: TVM's threads would not survive the fork.
        """
        import tvm

        unfit = [one for one in job.sketches if not one.supports(job.operator, job.target)]
        if unfit:
            raise UsageError(
                f"the sketch '{unfit[0].name}' cannot schedule {job.operator.key} "
                f"on {job.target.key}: take another sketch"
            )
        target, device = job.target.to_tvm(), _device_of(job.target)
        device.warm_up(target)
        arrays = job.operator.make_inputs(_SEED)
        reference = job.operator.reference(*arrays) if job.settings.verify else None
        prepared = cls(
            job=job,
            device=device,
            target=target,
            inputs=[tvm.runtime.tensor(array) for array in arrays],
            reference=reference,
            poison=None if reference is None else poison_like(reference),
        )
        _rehearse(prepared)
        if reference is not None:
            output = prepared.new_output().numpy()
            check = device.compile_check(output.dtype, reference, job.operator.tolerance)
            prepared = replace(prepared, check=check)
        # Collected objects would write to memory that parent and children share until then.
        gc.collect()
        gc.freeze()
        return prepared

    def mismatch(self, output: npt.NDArray[Any]) -> str | None:
        """What is wrong with an output in one line, or None where it is right or not verified."""
        if self.reference is None:
            return None
        relative, absolute = self.job.operator.tolerance
        return find_mismatch(output, self.reference, relative, absolute)

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
    collecting = gc.isenabled()
    gc.disable()  # there is nothing to collect among modules
    hidden = "torch" not in sys.modules  # it cannot be imported twice
    if hidden:
        sys.modules["torch"] = None  # type: ignore[assignment] # for imports: "there is none"
    try:
        import tvm  # noqa: F401
    finally:
        if hidden:
            del sys.modules["torch"]
        if collecting:
            gc.enable()


def _rehearse(prepared: Prepared) -> None:
    """Do once what needs no kernel: NumPy loads parts of itself at their first use.

    In a trial that would come on top of the run, which has the machine to itself.
    """
    from tvm.runtime.module import BenchmarkResult

    BenchmarkResult((1.0,))
    if prepared.reference is not None:
        find_mismatch(prepared.new_output().numpy(), prepared.reference, 0.0, 0.0)


def _device_of(target: Target) -> Device:
    """The device of a target."""
    if target.kind == "cuda":
        from tunesmith.measure.devices.cuda_device import CudaDevice

        return CudaDevice(target.gpu_arch)
    return CpuDevice()
