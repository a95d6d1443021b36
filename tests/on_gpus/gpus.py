"""What tests on GPUs share: tensors there, and what is launched on a stream."""

from __future__ import annotations

import ctypes
from typing import Any

import tvm

from tunesmith.target import Target

GPU = Target("cuda")


def on(gpu: int, *values: Any) -> list[Any]:
    """Tensors of TVM on a GPU."""
    return [tvm.runtime.tensor(value, tvm.cuda(gpu)) for value in values]


class Captured:
    """A stream of which is recorded, for a while, what is launched on it: a CUDA graph."""

    def __init__(self, stream: Any) -> None:
        self._cuda = ctypes.CDLL("libcudart.so.13")
        self._stream = ctypes.c_void_p(int(stream))
        self._graph, self._ready = ctypes.c_void_p(), ctypes.c_void_p()

    def __enter__(self) -> Captured:
        assert self._cuda.cudaStreamBeginCapture(self._stream, 0) == 0
        return self

    def __exit__(self, *_: object) -> None:
        assert self._cuda.cudaStreamEndCapture(self._stream, ctypes.byref(self._graph)) == 0

    def launch(self) -> None:
        flags = ctypes.c_ulonglong(0)
        assert self._cuda.cudaGraphInstantiate(ctypes.byref(self._ready), self._graph, flags) == 0
        assert self._cuda.cudaGraphLaunch(self._ready, self._stream) == 0
