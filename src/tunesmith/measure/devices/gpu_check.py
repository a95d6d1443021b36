"""Compares outputs with the reference on the GPU, element by element.

The rule is that of ``verify.find_mismatch``, which describes the mismatch if there is one.
"""

from __future__ import annotations

from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.cuda.gpu import Gpu
from tunesmith.cuda.gpu_program import GpuProgram
from tunesmith.cuda.lowering import Function, Launch

_KERNEL = "find_wrong"

_SOURCE = Template("""
static __device__ double of_half(unsigned short bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 31 ? (fraction ? nan("") : HUGE_VAL)
    : exponent ? ldexp(1024.0 + fraction, exponent - 25) : ldexp((double)fraction, -24);
  return bits >> 15 ? -size : size;
}
static __device__ double of_bfloat(unsigned short bits) {
  union { unsigned bits; float value; } wide = {(unsigned)bits << 16};
  return wide.value;
}
static __device__ double of_number(double value) { return value; }
extern "C" __global__ void $kernel(void* output, void* reference, void* wrong) {
  for (long i = blockIdx.x * (long)$threads + threadIdx.x; i < $elements; i += $stride) {
    double actual = $of_output((($output*)output)[i]);
    double expected = $of_reference((($reference*)reference)[i]);
    bool right = actual == expected || (isnan(actual) && isnan(expected)) ||
      (isfinite(actual) && isfinite(expected) &&
       fabs(actual - expected) <= $absolute + $relative * fabs(expected));
    if (!right) *(int*)wrong = 1;
  }
}
""")

# For each element type its C++ type, and the function that converts it to double.
_TYPES = {
    "float64": ("double", "of_number"),
    "float32": ("float", "of_number"),
    "float16": ("unsigned short", "of_half"),
    "bfloat16": ("unsigned short", "of_bfloat"),
    "int64": ("long long", "of_number"),
    "int32": ("int", "of_number"),
    "int16": ("short", "of_number"),
    "int8": ("signed char", "of_number"),
    "uint8": ("unsigned char", "of_number"),
}

_THREADS = 256
_MOST_BLOCKS = 1024

_NONE = np.zeros(1, np.int32)

Array = npt.NDArray[Any]


class GpuCheck:
    """A reference on a GPU, and a program that compares outputs with it.

    ``cubin`` is the compiled ``check_source``. Raises ``CudaError``.
    """

    def __init__(self, gpu: Gpu, cubin: bytes, reference: Array) -> None:
        self._gpu = gpu
        launch = Launch(_KERNEL, (_blocks(reference), 1, 1), (_THREADS, 1, 1), 0, (0, 1, 2))
        self._program = GpuProgram(gpu, cubin, {_KERNEL: Function((launch,))})
        self._array = reference
        self._reference = gpu.upload(reference)
        self._wrong = gpu.allocate(_NONE.nbytes)

    def passes(self, output: int) -> bool:
        """Whether every element of the output at that address is right."""
        self._gpu.fill(self._wrong, 0, _NONE.nbytes)
        self._program.call(_KERNEL, [output, self._reference, self._wrong])
        return not self._gpu.read(self._wrong, _NONE).any()

    def restore(self) -> None:
        """Copy the reference to the GPU again."""
        self._gpu.write(self._reference, self._array)


def check_source(output: Any, reference: Array, tolerance: tuple[float, float]) -> str:
    """CUDA C++ that compares outputs of a NumPy type with a reference.

    ``tolerance`` is (relative, absolute).
    """
    (output_type, of_output), (reference_type, of_reference) = (
        _TYPES[str(dtype)] for dtype in (output, reference.dtype)
    )
    relative, absolute = tolerance
    return _SOURCE.substitute(
        kernel=_KERNEL,
        threads=_THREADS,
        stride=_blocks(reference) * _THREADS,
        elements=reference.size,
        output=output_type,
        of_output=of_output,
        reference=reference_type,
        of_reference=of_reference,
        relative=relative.hex(),
        absolute=absolute.hex(),
    )


def _blocks(reference: Array) -> int:
    return min(_MOST_BLOCKS, -(-reference.size // _THREADS))
