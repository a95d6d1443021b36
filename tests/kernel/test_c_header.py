"""The C interface of saved kernels: compiled without a warning, linked and run as the header says,
and checked."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.kernels import kernel_of
from tunesmith.kernel.c_header import c_header
from tunesmith.kernel.kernel import Kernel
from tunesmith.operators import (
    Argument,
    Operator,
    conv2d,
    dense,
    matmul,
    pool2d,
    softmax,
)
from tunesmith.sketches.cpu.tiled.sketch import CpuTiled
from tunesmith.sketches.tir.weights import has_constant_weights
from tunesmith.target import Target

STRICT = ("-Wall", "-Wextra", "-Werror")

# Enough to occupy a workspace, more than one thread and an epilogue.
LAYER = conv2d(ci=8, h=30, w=30, co=32, kernel=3, padding=1, bias=True, relu=True)

# The functions that both programs share, and one program for each kind of kernel.
FILES = """
#include <stdio.h>
#include <stdlib.h>
#include "layer.h"

static float* tensor(size_t elements) {
  /* Between two multiples of 64 bytes: arrays may start anywhere. */
  float* memory = (float*)aligned_alloc(64, (elements * sizeof(float)) / 64 * 64 + 128);
  return memory ? memory + 1 : NULL;
}

static float* from_file(const char* name, size_t elements) {
  float* data = tensor(elements);
  FILE* file = fopen(name, "rb");
  if (!data || !file || fread(data, sizeof(float), elements, file) != elements) exit(3);
  fclose(file);
  return data;
}

static int to_file(const float* output) {
  FILE* file = fopen("output.bin", "wb");
  fwrite(output, sizeof(float), LAYER_OUTPUT_ELEMENTS, file);
  return fclose(file);
}
"""

PROGRAM = """
int main(void) {
  float* data = from_file("data.bin", LAYER_DATA_ELEMENTS);
  float* weight = from_file("weight.bin", LAYER_WEIGHT_ELEMENTS);
  float* bias = from_file("bias.bin", LAYER_BIAS_ELEMENTS);
  float* output = tensor(LAYER_OUTPUT_ELEMENTS);
  for (int call = 0; call < 3; ++call) {
    for (size_t i = 0; i < LAYER_OUTPUT_ELEMENTS; ++i) output[i] = -1.0f;
    if (layer(data, weight, bias, output) != 0) return 4;
  }
  if (layer(data, NULL, bias, output) != -1) return 6;
  return to_file(output);
}
"""

CONSTANT_WEIGHTS_PROGRAM = """
int main(void) {
  float* data = from_file("data.bin", LAYER_DATA_ELEMENTS);
  float* weight = from_file("weight.bin", LAYER_WEIGHT_ELEMENTS);
  float* bias = from_file("bias.bin", LAYER_BIAS_ELEMENTS);
  float* prepared = tensor(LAYER_PREPARED_ELEMENTS);
  float* output = tensor(LAYER_OUTPUT_ELEMENTS);
  if (layer_prepare(weight, NULL) != -1) return 5;
  if (layer_prepare(weight, prepared) != 0) return 6;
  for (size_t i = 0; i < LAYER_WEIGHT_ELEMENTS; ++i) weight[i] = 0.0f;
  for (int call = 0; call < 3; ++call) {
    for (size_t i = 0; i < LAYER_OUTPUT_ELEMENTS; ++i) output[i] = -1.0f;
    if (layer(data, prepared, bias, output) != 0) return 4;
  }
  return to_file(output);
}
"""


PREPARED = Argument("prepared", (5, 4), "float32")


def _runtime_folders() -> list[Path]:
    """Where the installed packages have libtvm_runtime and libtvm_ffi."""
    import tvm
    import tvm_ffi

    return [Path(str(package.__file__)).parent / "lib" for package in (tvm, tvm_ffi)]


def _strictly(*command: object, **options: Any) -> None:
    """Run a command and fail with what it says."""
    result = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )
    assert result.returncode == 0, result.stderr


def _constant_weights_kernel() -> Kernel:
    """The layer with weights that a function of the program packs."""
    layer, target, sketch = dataclasses.replace(LAYER, constant_weights=True), Target(), CpuTiled()
    config = sketch.default(layer, target).replace(
        vectorize="f", tile_f=(1, 2, 16), tile_x=(15, 1, 2), pack_weight=True
    )
    return Kernel.build(layer, target, sketch.program(layer, target, config), config)


@pytest.mark.parametrize(
    ("make", "program"),
    [
        (lambda: kernel_of(LAYER), PROGRAM),
        (_constant_weights_kernel, CONSTANT_WEIGHTS_PROGRAM),
    ],
    ids=["main", "prepare and main"],
)
def test_a_c_program_calls_a_saved_kernel(
    c_compiler: str, tmp_path: Path, make: Callable[[], Kernel], program: str
) -> None:
    _, header, _ = make().save(tmp_path / "layer.so")
    (tmp_path / "program.c").write_text(FILES + program)
    link, call = re.findall(r"^ \*   (\S.+)$", header.read_text(), re.MULTILINE)
    assert link.startswith("cc program.c layer.so ")
    assert call.endswith(" ./a.out")
    tvm, ffi = map(str, _runtime_folders())
    environment = {**os.environ, "TVM": tvm, "FFI": ffi, "TVM_NUM_THREADS": "2"}
    strict = " ".join([c_compiler, "-std=c11", *STRICT, link.removeprefix("cc ")])
    _strictly("sh", "-c", strict, cwd=tmp_path, env=environment)

    inputs = LAYER.make_inputs(seed=5)
    for argument, array in zip(LAYER.arguments, inputs, strict=True):
        array.tofile(tmp_path / f"{argument.name}.bin")
    _strictly("sh", "-c", call, cwd=tmp_path, env=environment)
    output = np.fromfile(tmp_path / "output.bin", np.float32).reshape(LAYER.result.shape)
    relative, absolute = LAYER.tolerance
    np.testing.assert_allclose(output, LAYER.reference(*inputs), relative, absolute)


@pytest.mark.parametrize("arch", [None, "sm_90"], ids=["processor", "GPU"])
@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize(
    "operator",
    [
        LAYER,
        matmul(m=2, n=3, k=4, dtype="int8", bias=True, residual=True),
        matmul(m=2, n=3, k=4, dtype="float64"),
        matmul(m=2, n=3, k=4, bias=True, constant_weights=True),
        dense(n=3, k=4, dtype="float16"),
        pool2d(c=2, h=4, w=4, kernel=2, dtype="bfloat16"),
        softmax(m=2, n=3),
    ],
    ids=lambda operator: operator.key,
)
def test_the_header_is_clean_c_and_c_plus_plus(
    c_compiler: str, tmp_path: Path, operator: Operator, language: str, arch: str | None
) -> None:
    if language == "c++" and shutil.which("g++") is None and shutil.which("clang++") is None:
        pytest.skip("no C++ compiler on this machine (g++, clang++)")
    prepared = PREPARED if has_constant_weights(operator) else None
    (tmp_path / "kernel.h").write_text(c_header(operator, "kernel", "x86-64", prepared, arch))
    source = tmp_path / "source.c"
    source.write_text('#include "kernel.h"\n#include "kernel.h"\n')
    standard = "-std=c99" if language == "c" else "-std=c++11"
    _strictly(c_compiler, "-x", language, standard, *STRICT, "-fsyntax-only", source)


def test_the_header_says_what_the_function_takes() -> None:
    operator = matmul(m=2, n=3, k=4, dtype="int8", bias=True)
    header = c_header(operator, "int8-product", "znver4")
    assert operator.key in header
    assert "a processor like znver4" in header
    assert "must not overlap what it reads" in header
    parameters = "const int8_t* data, const int8_t* weight, const int32_t* bias, int32_t* output"
    assert f"static inline int int8_product({parameters})" in header
    assert "#define INT8_PRODUCT_WEIGHT_ELEMENTS 12 /* 4 x 3, int8 */" in header


def test_the_header_says_in_which_order_to_call_with_constant_weights() -> None:
    operator = matmul(m=2, n=3, k=4, dtype="bfloat16", bias=True, constant_weights=True)
    header = c_header(operator, "product", "znver4", PREPARED)
    prepare = "int product_prepare(const uint16_t* weight, float* prepared)"
    main = (
        "int product(const uint16_t* data, const float* prepared, const uint16_t* bias, "
        "uint16_t* output)"
    )
    assert f"static inline {prepare}" in header
    assert f"static inline {main}" in header
    assert "#define PRODUCT_PREPARED_ELEMENTS 20 /* 5 x 4, float32 */" in header
    sequence = [
        " *     product_prepare(weight, prepared);",
        " *     product(data, prepared, bias, output);",
    ]
    assert "\n".join(sequence) in header
    assert "_prepare" not in c_header(operator, "product", "znver4")


def test_the_header_for_a_gpu_says_where_tensors_are() -> None:
    operator = matmul(m=2, n=3, k=4, constant_weights=True)
    header = c_header(operator, "product", "znver4", PREPARED, "sm_90")
    assert "an NVIDIA GPU like sm_90" in header
    assert "in the memory of one GPU" in header
    where = "int gpu, void* stream"
    prepare = f"int product_prepare({where}, const float* weight, float* prepared)"
    main = f"int product({where}, const float* data, const float* prepared, float* output)"
    assert f"static inline {prepare}" in header
    assert f"static inline {main}" in header
    assert " *     product_prepare(gpu, stream, weight, prepared);" in header


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("conv2d", "conv2d"),
        ("conv-2.best", "conv_2_best"),
        ("7x7", "kernel_7x7"),
        ("double", "kernel_double"),
        ("main", "kernel_main"),
        ("größe", "gr__e"),
    ],
)
def test_the_function_is_called_like_the_file(stem: str, name: str) -> None:
    header = c_header(softmax(m=2, n=3), stem, "x86-64")
    assert re.search(rf"static inline int {name}\(", header)
