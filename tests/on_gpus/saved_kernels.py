"""Saved kernels for GPUs: the files, loading them, calling them from C, on two emulated GPUs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.kernel.test_c_header import STRICT
from tests.kernels import BIASED, DATA, SQUARE, WEIGHT, assert_right, inputs_of, kernel_of
from tests.on_gpus.gpus import GPU
from tests.on_gpus.program_calls import CONSTANT, preparing_kernel
from tunesmith.compiler.llvm import host_processor
from tunesmith.cuda import executable
from tunesmith.cuda.devices import gpus
from tunesmith.cuda.driver import driver
from tunesmith.errors import MissingDependencyError, TunesmithError, UsageError
from tunesmith.kernel.kernel import Kernel
from tunesmith.sketches import sketch_for
from tunesmith.target import Target

# As the emulated nvcc writes it.
CUBIN = b"TUNESMITH EMULATED 90 "


@pytest.fixture
def _no_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if TVM had no runtime for GPUs."""

    def load_runtime() -> None:
        raise MissingDependencyError("there is no runtime")

    monkeypatch.setenv("TVM_COMPILE_FORCE_FALLBACK", "1")
    monkeypatch.setattr(executable, "load_runtime", load_runtime)


def built() -> Kernel:
    """A kernel that nobody built before."""
    sketch = sketch_for(BIASED, GPU)
    config = sketch.default(BIASED, GPU)
    return Kernel.build(BIASED, GPU, sketch.program(BIASED, GPU, config), config)


def test_a_saved_kernel_holds_machine_code_and_says_for_which_gpu(tmp_path: Path) -> None:
    library, header, description = kernel_of(BIASED, GPU).save(tmp_path / "kernel.so")
    assert CUBIN in library.read_bytes()
    assert b"__global__" not in library.read_bytes(), "there is no source to compile later"
    described = json.loads(description.read_text())
    assert described["format"] == 3
    assert described["target"] == {"kind": "cuda", "mcpu": None, "cores": None, "arch": None}
    assert (described["arch"], described["processor"]) == ("sm_90", host_processor())
    assert "an NVIDIA GPU like sm_90" in header.read_text()


def test_a_loaded_kernel_computes_the_same(tmp_path: Path) -> None:
    kernel_of(BIASED, GPU).save(tmp_path / "kernel.so")
    loaded = Kernel.load(tmp_path / "kernel.so")
    assert (loaded.arch, loaded.target) == ("sm_90", GPU)
    inputs = inputs_of(BIASED)
    assert_right(BIASED, loaded(*inputs), inputs)
    preparing_kernel().save(tmp_path / "prepares.so")
    prepared = Kernel.load(tmp_path / "prepares.so").prepare(WEIGHT)
    assert_right(CONSTANT, prepared(DATA), [DATA, WEIGHT])


@pytest.mark.usefixtures("_no_runtime")
def test_a_kernel_is_built_and_saved_without_tvms_runtime_for_gpus(tmp_path: Path) -> None:
    kernel = built()
    assert "__global__" in kernel.source("cuda")
    with pytest.raises(MissingDependencyError, match="there is no runtime"):
        kernel(*inputs_of(BIASED))
    library, *_ = kernel.save(tmp_path / "kernel.so")
    assert CUBIN in library.read_bytes()
    assert b"__global__" not in library.read_bytes()
    inputs = inputs_of(BIASED)
    assert_right(BIASED, Kernel.load(library)(*inputs), inputs)


def test_code_that_nvcc_refuses_is_said_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executable, "compile_cuda", _refuse)
    with pytest.raises(TunesmithError, match=r"\Anvcc failed: too much shared data\Z"):
        built()


@pytest.mark.parametrize("runtime", ["with a runtime", "without"])
def test_a_program_that_has_nothing_for_the_gpu_is_refused(
    runtime: str, request: pytest.FixtureRequest
) -> None:
    if runtime == "without":
        request.getfixturevalue("_no_runtime")
    cpu = Target()
    sketch = sketch_for(SQUARE, cpu, "cpu_tiled")
    program = sketch.program(SQUARE, cpu, sketch.default(SQUARE, cpu))
    with pytest.raises(TunesmithError, match=r"\Athe program has no function for the GPU: .+\Z"):
        Kernel.build(SQUARE, GPU, program)


def _refuse(*_: Any) -> Any:
    raise TunesmithError("nvcc failed: too much shared data")


@pytest.mark.parametrize(
    ("setting", "kind", "message"),
    [
        ("ARCH=80", TunesmithError, r"the kernel was compiled for sm_90, which GPU 0 \(.+\) .+"),
        (
            "DRIVER=12080",
            UsageError,
            r"kernels for GPUs need a driver for CUDA 13\.0, .+ 12\.8: .+",
        ),
        ("GPUS=0", UsageError, "no NVIDIA GPU can be used: .+"),
    ],
)
def test_where_no_gpu_runs_it_loading_says_so(
    setting: str,
    kind: type[Exception],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel_of(SQUARE, GPU).save(tmp_path / "kernel.so")
    name, value = setting.split("=")
    monkeypatch.setenv(f"TUNESMITH_EMULATED_{name}", value)
    driver.cache_clear()
    gpus.cache_clear()
    try:
        with pytest.raises(kind, match=rf"\A{message}\Z"):
            Kernel.load(tmp_path / "kernel.so")
    finally:
        monkeypatch.undo()
        driver.cache_clear()
        gpus.cache_clear()


PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include "layer.h"

extern int cudaSetDevice(int);
extern int cudaMalloc(void**, size_t);
extern int cudaMemcpyAsync(void*, const void*, size_t, int, void*);
extern int cudaStreamCreate(void**);
extern int cudaStreamSynchronize(void*);

static float* from_file(const char* name, size_t elements) {
  float* here = (float*)malloc(elements * sizeof(float));
  void* data = NULL;
  FILE* file = fopen(name, "rb");
  if (!here || !file || fread(here, sizeof(float), elements, file) != elements) exit(3);
  fclose(file);
  if (cudaMalloc(&data, elements * sizeof(float))) exit(4);
  if (cudaMemcpyAsync(data, here, elements * sizeof(float), 1, NULL)) exit(5);
  if (cudaStreamSynchronize(NULL)) exit(6);
  free(here);
  return (float*)data;
}

int main(void) {
  void *stream = NULL, *memory = NULL;
  static float output[LAYER_OUTPUT_ELEMENTS];
  if (cudaSetDevice(1) || cudaStreamCreate(&stream)) return 7;
  float* data = from_file("data.bin", LAYER_DATA_ELEMENTS);
  float* weight = from_file("weight.bin", LAYER_WEIGHT_ELEMENTS);
  if (cudaMalloc(&memory, sizeof output)) return 8;
  float* result = (float*)memory;
  if (layer_load("no-such.so") != -1) return 9;
  if (layer_load("./layer.so") != 0) return 10;
$CALLS
  if (cudaMemcpyAsync(output, result, sizeof output, 2, stream)) return 14;
  if (cudaStreamSynchronize(stream)) return 15;
  FILE* file = fopen("output.bin", "wb");
  fwrite(output, sizeof(float), LAYER_OUTPUT_ELEMENTS, file);
  return fclose(file);
}
"""

MAIN = """
  if (layer(1, stream, data, weight, result) != 0) return 11;
  if (layer(1, stream, data + 1, weight, result) != -1) return 12;
"""

PREPARE_AND_MAIN = """
  if (cudaMalloc(&memory, sizeof(float) * LAYER_PREPARED_ELEMENTS)) return 11;
  float* prepared = (float*)memory;
  if (layer_prepare(1, stream, weight, prepared) != 0) return 12;
  if (layer(1, stream, data, prepared, result) != 0) return 13;
"""


@pytest.mark.parametrize("calls", [MAIN, PREPARE_AND_MAIN], ids=["main", "prepare and main"])
def test_a_c_program_calls_a_saved_kernel(calls: str, tmp_path: Path, c_compiler: str) -> None:
    import tvm
    import tvm_ffi

    kernel = kernel_of(SQUARE, GPU) if calls is MAIN else preparing_kernel()
    _, header, _ = kernel.save(tmp_path / "layer.so")
    (tmp_path / "program.c").write_text(PROGRAM.replace("$CALLS", calls))
    lines = header.read_text().replace("\\\n *", "")
    link, call = re.findall(r"^ \*   (\S.+)$", lines, re.MULTILINE)
    folders = [str(Path(str(package.__file__)).parent / "lib") for package in (tvm, tvm_ffi)]
    cuda = os.environ["LD_LIBRARY_PATH"].partition(os.pathsep)[0]
    environment = {**os.environ, "TVM": folders[0], "FFI": folders[1], "CUDA": cuda}
    strict = " ".join([c_compiler, "-std=c11", *STRICT, link.removeprefix("cc ")])
    DATA.tofile(tmp_path / "data.bin")
    WEIGHT.tofile(tmp_path / "weight.bin")
    for command in (strict, call):
        ran = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, (ran.returncode, ran.stdout, ran.stderr)
    output = np.fromfile(tmp_path / "output.bin", np.float32).reshape(16, 16)
    assert_right(SQUARE, output, [DATA, WEIGHT])


def test_a_target_that_is_named_stays_named(tmp_path: Path) -> None:
    named = Target("cuda", arch="sm_80")
    kernel_of(SQUARE, named).save(tmp_path / "kernel.so")
    described = json.loads((tmp_path / "kernel.json").read_text())
    assert (described["target"]["arch"], described["arch"]) == ("sm_80", "sm_80")
