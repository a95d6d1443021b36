"""The state that every trial inherits from the server, computed before the first fork."""

from __future__ import annotations

import gc
import platform
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.compiler.cross_linker import linker_for
from tunesmith.errors import UsageError
from tunesmith.measure.devices.device import CpuDevice, Device
from tunesmith.measure.trial import weight_cache
from tunesmith.measure.trial.job import Job
from tunesmith.measure.trial.verify import find_mismatch, poison_like
from tunesmith.operators import Argument
from tunesmith.target import Target

_SEED = 0


@dataclass(frozen=True)
class Prepared:
    """The job, the device, TVM's target, the inputs as TVM tensors, and the expected result.

    ``reference`` and ``poison`` (see ``poison_like``) are None if outputs are not verified.
    ``check`` is the machine code that compares with the reference on a GPU, None for CPUs.
    ``weight_cache`` is the folder of the weights that trials have prepared.
    """

    job: Job
    device: Device
    target: Any
    inputs: list[Any]
    reference: npt.NDArray[Any] | None
    poison: npt.NDArray[Any] | None
    check: bytes | None = None
    weight_cache: Path = field(default_factory=weight_cache.new_folder)

    @classmethod
    def of(cls, job: Job, device: Device | None = None) -> Prepared:
        """Warm TVM up, make the inputs, compute the reference. Without a ``device`` it is this
        machine's.

        No kernel may run here, because TVM's threads do not survive a fork. Raises ``UsageError``
        if the sketch does not support the operator on the target, and like ``Device.warm_up``.
        """
        import tvm

        unfit = [one for one in job.sketches if not one.supports(job.operator, job.target)]
        if unfit:
            raise UsageError(
                f"the sketch '{unfit[0].name}' cannot schedule {job.operator.key} "
                f"on {job.target.key}: take another sketch"
            )
        target, device = job.target.to_tvm(), device or _device_of(job.target)
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
        # A later collection in children would write to pages that they share with the parent.
        gc.collect()
        gc.freeze()
        return prepared

    def close(self) -> None:
        """Remove the weights that trials have prepared."""
        shutil.rmtree(self.weight_cache, ignore_errors=True)

    def mismatch(self, output: npt.NDArray[Any]) -> str | None:
        """What is wrong with an output in one line; None if it is right or not verified."""
        if self.reference is None:
            return None
        relative, absolute = self.job.operator.tolerance
        return find_mismatch(output, self.reference, relative, absolute)

    def new_output(self) -> Any:
        """A tensor for the result, filled with ``poison``, or zeros if that is None."""
        return new_output(self.job.operator.result, self.poison)


def new_output(result: Argument, poison: npt.NDArray[Any] | None) -> Any:
    """A tensor for a result, filled with ``poison``, or zeros if that is None."""
    import tvm

    if poison is not None:
        return tvm.runtime.tensor(poison)
    output = tvm.runtime.empty(result.shape, result.dtype)
    output.copyfrom(np.zeros(result.shape, output.numpy().dtype))
    return output


def rehearse() -> None:
    """Trigger lazy imports of TVM, which would otherwise lengthen each trial's run."""
    from tvm.runtime.module import BenchmarkResult

    BenchmarkResult((1.0,))


def _rehearse(prepared: Prepared) -> None:
    """Trigger lazy imports of TVM and NumPy, which would otherwise lengthen each trial's run."""
    rehearse()
    if prepared.reference is not None:
        find_mismatch(prepared.new_output().numpy(), prepared.reference, 0.0, 0.0)


def _device_of(target: Target) -> Device:
    """The device for a target."""
    if target.kind == "cuda":
        from tunesmith.measure.devices.cuda_device import CudaDevice

        return CudaDevice(target.gpu_arch)
    if target.architecture != platform.machine():  # only to build
        from tunesmith.measure.devices.cross_device import CrossDevice

        return CrossDevice(linker_for(target.architecture))
    return CpuDevice()
