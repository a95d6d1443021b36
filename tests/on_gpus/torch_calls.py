"""Kernels for GPUs over tensors of PyTorch: a stand-in, for PyTorch here knows no GPU."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi

from tests.kernels import DATA, SQUARE, WEIGHT, assert_right, kernel_of
from tests.on_gpus.gpus import GPU, Captured, on
from tunesmith.errors import UsageError


class FakeTensor:
    """What calls need of PyTorch's tensors on a GPU, for PyTorch here knows no GPU."""

    __module__ = "torch"
    requires_grad = False

    def __init__(self, tensor: Any, contiguous: bool = True) -> None:
        self.tensor, self._contiguous = tensor, contiguous
        self.shape, self.dtype = tuple(tensor.shape), f"torch.{tensor.dtype}"
        self.device = tensor.device
        self.streams: list[Any] = []

    def detach(self) -> FakeTensor:
        return self

    def data_ptr(self) -> int:
        return int(self.tensor.data_ptr())

    def clone(self, **_: Any) -> FakeTensor:
        return FakeTensor(tvm.runtime.tensor(self.tensor.numpy(), self.device))

    def copy_(self, other: FakeTensor) -> None:
        self.tensor.copyfrom(other.tensor)

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        if not self._contiguous:
            raise ValueError("not in C order")
        if self.device.index != sys.modules["torch"].current[-1]:
            raise BufferError("Can't export tensors on a different CUDA device index")
        self.streams.append(stream)
        return self.tensor.__dlpack__(max_version=max_version)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = self.tensor.__dlpack_device__()
        return int(kind), int(number)


class FakeTorch(types.ModuleType):
    """What calls need of PyTorch. ``made`` are the tensors that it gave, ``current`` the GPUs that
    are the current one for a while, from the first on."""

    Tensor = FakeTensor
    float32, contiguous_format = "float32", None

    def __init__(self, stream: Any) -> None:
        super().__init__("torch")
        self.made: list[FakeTensor] = []
        self.current = [0]
        self.cuda = self
        self._stream = int(stream)

    def is_initialized(self) -> bool:
        return True

    def current_stream(self, _gpu: int) -> Any:
        return types.SimpleNamespace(cuda_stream=self._stream)

    @contextlib.contextmanager
    def device(self, gpu: int) -> Iterator[None]:
        self.current.append(gpu)
        yield
        self.current.pop()

    def empty(self, shape: Any, *, dtype: str, device: Any) -> FakeTensor:
        self.made.append(FakeTensor(tvm.runtime.empty(shape, dtype, device)))
        return self.made[-1]

    def from_dlpack(self, tensor: Any) -> FakeTensor:
        return FakeTensor(tensor)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTorch]:
    stream = tvm.cuda(1).create_raw_stream()
    fake = FakeTorch(stream)
    monkeypatch.setitem(sys.modules, "torch", fake)
    yield fake


def torch_inputs(contiguous: bool = True) -> list[FakeTensor]:
    return [FakeTensor(tensor, contiguous) for tensor in on(1, DATA, WEIGHT)]


def test_pytorch_gives_the_memory_and_gets_its_tensor(torch: FakeTorch) -> None:
    inputs = torch_inputs()
    result = kernel_of(SQUARE, GPU)(*inputs)
    assert isinstance(result, FakeTensor)
    assert [result.data_ptr()] == [made.data_ptr() for made in torch.made]
    assert [tensor.streams for tensor in inputs] == [[torch._stream]] * 2
    assert_right(SQUARE, result.tensor.numpy(), [DATA, WEIGHT])


def test_tensors_of_two_libraries_are_on_the_stream_of_the_first(torch: FakeTorch) -> None:
    kernel, (data, weight), (other, last) = (
        kernel_of(SQUARE, GPU),
        torch_inputs(),
        on(1, DATA, WEIGHT),
    )
    result = kernel(data, last)
    assert isinstance(result, FakeTensor)
    assert data.streams == [torch._stream]
    assert_right(SQUARE, result.tensor.numpy(), [DATA, WEIGHT])
    result = kernel(other, weight)
    assert isinstance(result, tvm.runtime.Tensor)
    assert weight.streams == [1], "which is the default stream"
    assert_right(SQUARE, result.numpy(), [DATA, WEIGHT])


def test_it_runs_on_the_current_stream_of_pytorch(torch: FakeTorch) -> None:
    kernel, inputs, out = kernel_of(SQUARE, GPU), torch_inputs(), torch_inputs()[0]
    kernel(*inputs)
    out.tensor.copyfrom(np.zeros_like(DATA))
    with Captured(torch._stream) as captured:
        assert kernel(*inputs, out=out) is out
    assert not out.tensor.numpy().any(), "what is captured does not run"
    captured.launch()
    assert_right(SQUARE, out.tensor.numpy(), [DATA, WEIGHT])
    assert tvm_ffi.get_raw_stream(tvm.cuda(1)) == 0, "the stream is TVM's own again"


@pytest.mark.usefixtures("torch")
def test_tensors_of_pytorch_that_lie_otherwise_are_copied() -> None:
    kernel, (out, _) = kernel_of(SQUARE, GPU), torch_inputs(contiguous=False)
    result = kernel(*torch_inputs(contiguous=False))
    assert_right(SQUARE, result.tensor.numpy(), [DATA, WEIGHT])
    assert kernel(*torch_inputs(), out=out) is out
    with pytest.raises(UsageError, match=r"\Aweight cannot be used as an array: not in C order\Z"):
        kernel(*on(1, DATA), torch_inputs(contiguous=False)[1])
    assert_right(SQUARE, out.tensor.numpy(), [DATA, WEIGHT])
