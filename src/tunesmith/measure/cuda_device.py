"""NVIDIA GPUs as devices that programs are built for, by nvcc."""

from __future__ import annotations

from typing import Any

from tunesmith.cuda.lowering import cuda_source
from tunesmith.cuda_compiler import compile_cuda, has_nvcc, summary
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measure.device import BuiltProgram, DeviceCodeError, small_schedule


class CudaDevice:
    """A GPU with an instruction set such as ``sm_90``, on this machine or not.

    Where there is no nvcc, programs are not compiled beyond CUDA C++. None can be called.
    """

    def __init__(self, arch: str) -> None:
        self._arch = arch

    def warm_up(self, target: Any) -> None:
        schedule = small_schedule()
        i, j, _ = schedule.get_loops(schedule.get_sblock("b"))
        schedule.bind(i, "blockIdx.x")
        schedule.bind(j, "threadIdx.x")
        try:
            self.build(schedule.mod, target)
        except DeviceCodeError as error:
            raise UsageError(f"nothing can be built for {self._arch}: {error}") from error

    def build(self, program: Any, target: Any) -> BuiltProgram:
        source = cuda_source(program, target)
        if not has_nvcc():
            return BuiltProgram()
        try:
            cubin = compile_cuda(source, self._arch)
        except TunesmithError as error:
            raise DeviceCodeError(str(error)) from error
        return BuiltProgram(resources=summary(cubin, self._arch))
