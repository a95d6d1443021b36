"""Builds programs for NVIDIA GPUs, with nvcc."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from tunesmith.cuda.cache import ProgramCache, default_folder
from tunesmith.cuda.compiler import (
    Cubin,
    compile_cuda,
    compiler_text,
    has_nvcc,
    options_for,
    summary,
)
from tunesmith.cuda.lowering import cuda_code
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.measure.devices.device import Build, BuiltProgram, DeviceCodeError, small_schedule
from tunesmith.measure.devices.gpu_check import check_source
from tunesmith.sketches.tir.weights import prepared_weights


class CudaDevice:
    """A GPU of an architecture such as ``sm_90``, which need not be in this machine.

    Without nvcc, programs are only lowered to CUDA C++, and cannot be called.
    """

    def __init__(self, arch: str) -> None:
        self._arch = arch
        self._cache: ProgramCache | None = None

    def warm_up(self, target: Any) -> None:
        if has_nvcc():
            compiler = " ".join([compiler_text(), *options_for(self._arch)])
            self._cache = ProgramCache(default_folder(), compiler)
            self._cache.shrink()
        schedule = small_schedule()
        i, j, _ = schedule.get_loops(schedule.get_sblock("b"))
        schedule.bind(i, "blockIdx.x")
        schedule.bind(j, "threadIdx.x")
        try:
            self.build(Build(schedule.mod, target, "warm-up"))
        except DeviceCodeError as error:
            raise UsageError(f"nothing can be built for {self._arch}: {error}") from error

    def build(self, build: Build) -> BuiltProgram:
        code = cuda_code(build.program, build.target)
        if self._cache is None:
            return BuiltProgram()
        cubin, path = self._compiled(self._cache, build.hash, code.source)
        functions = {name: dataclasses.asdict(one) for name, one in code.functions.items()}
        weights = prepared_weights(build.program)
        return BuiltProgram(
            resources=summary(cubin, code.functions, self._arch),
            weights=weights,
            code={
                "path": str(path),
                "functions": functions,
                "weights_bytes": 0 if weights is None else weights.bytes,
            },
        )

    def compile_check(
        self, output: Any, reference: Any, tolerance: tuple[float, float]
    ) -> bytes | None:
        if self._cache is None:
            return None
        source = check_source(output, reference, tolerance)
        cubin, _ = self._compiled(self._cache, "check", source)
        return cubin.code

    def _compiled(self, cache: ProgramCache, name: str, source: str) -> tuple[Cubin, Path]:
        try:
            return cache.compiled(
                name, self._arch, source, lambda: compile_cuda(source, self._arch)
            )
        except TunesmithError as error:
            raise DeviceCodeError(str(error)) from error
