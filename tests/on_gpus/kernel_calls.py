"""Kernels for GPUs as callables, on two emulated GPUs."""

from __future__ import annotations

import contextlib
import ctypes
import sys
import types
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import te
from tvm.s_tir import Schedule

from tests.kernels import BIASED, DATA, SQUARE, WEIGHT, assert_right, inputs_of, kernel_of
from tests.test_kernel_tensors import OnlyDlpack
from tunesmith import arrays
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.kernel import Kernel
from tunesmith.operators import Operator, conv2d, matmul
from tunesmith.sketches import sketch_for
from tunesmith.target import Target

GPU = Target("cuda")
CONSTANT = matmul(m=16, n=16, k=16, constant_weights=True)


def on(gpu: int, *values: Any) -> list[Any]:
    """Tensors of TVM on a GPU."""
    return [tvm.runtime.tensor(value, tvm.cuda(gpu)) for value in values]


# -- arrays in main memory ------------------------------------------------------------------------


def test_it_is_for_the_gpu_of_this_machine() -> None:
    kernel = kernel_of(BIASED, GPU)
    assert kernel.arch == "sm_90"
    assert "__global__" in kernel.source("cuda")
    with pytest.raises(UsageError, match=r"\Athe source of a kernel for a GPU is cuda .+, not ll"):
        kernel.source("ll")


def test_numpy_arrays_are_copied_there_and_back() -> None:
    inputs = inputs_of(BIASED)
    result = kernel_of(BIASED, GPU)(*inputs)
    assert isinstance(result, np.ndarray)
    assert_right(BIASED, result, inputs)


@pytest.mark.parametrize("out", [np.full((6, 10), np.nan, np.float32), np.zeros((10, 6), "f").T])
def test_out_in_main_memory_is_filled(out: Any) -> None:
    inputs = inputs_of(BIASED)
    assert kernel_of(BIASED, GPU)(*inputs, out=out) is out
    assert_right(BIASED, out, inputs)


def test_out_in_main_memory_may_be_an_input() -> None:
    data = DATA.copy()
    kernel_of(SQUARE, GPU)(data, WEIGHT, out=data)
    assert_right(SQUARE, data, [DATA, WEIGHT])


def test_a_bound_call_works_on_copies() -> None:
    for inputs in ([DATA.copy(), WEIGHT.copy()], on(1, DATA, WEIGHT)):
        call = kernel_of(SQUARE, GPU).bind(*inputs)
        for array in inputs:
            array[:] = np.full_like(DATA, np.nan)
        call()
        assert isinstance(call, partial)
        assert_right(SQUARE, call.args[-1].numpy(), [DATA, WEIGHT])


# -- tensors on a GPU -----------------------------------------------------------------------------


@pytest.mark.parametrize("gpu", [0, 1])
def test_tensors_on_a_gpu_give_one_there(gpu: int) -> None:
    result = kernel_of(SQUARE, GPU)(*on(gpu, DATA, WEIGHT))
    assert isinstance(result, tvm.runtime.Tensor)
    assert (result.device.dlpack_device_type(), result.device.index) == (2, gpu)
    assert_right(SQUARE, result.numpy(), [DATA, WEIGHT])


def test_inputs_and_out_on_a_gpu_are_used_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernel_of(SQUARE, GPU)
    data, weight, out = on(0, DATA, WEIGHT, np.full_like(DATA, np.nan))
    kernel(data, weight)  # makes what is made once
    monkeypatch.setattr(arrays, "new_tensor", lambda *_: pytest.fail("memory is taken"))
    assert kernel(data, weight, out=out) is out
    assert_right(SQUARE, out.numpy(), [DATA, WEIGHT])


def test_out_on_a_gpu_may_be_an_input() -> None:
    data, weight = on(1, DATA, WEIGHT)
    assert kernel_of(SQUARE, GPU)(data, weight, out=data) is data
    assert_right(SQUARE, data.numpy(), [DATA, WEIGHT])


class _Elsewhere(OnlyDlpack):
    """A tensor on a GPU of a library that nobody knows."""

    def __init__(self, tensor: Any) -> None:
        super().__init__(tensor, device=2)
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype
        self.streams: list[Any] = []

    def __dlpack__(self, **options: Any) -> Any:
        self.streams.append(options.get("stream"))
        return super().__dlpack__(**options)


def test_tensors_of_unknown_libraries_are_asked_for_the_default_stream() -> None:
    data, weight = map(_Elsewhere, on(0, DATA, WEIGHT))
    result = kernel_of(SQUARE, GPU)(data, weight)
    assert data.streams == weight.streams == [1]
    assert isinstance(result, tvm.runtime.Tensor), "there is no way to make one of theirs"
    assert_right(SQUARE, result.numpy(), [DATA, WEIGHT])


def test_the_stream_of_tvm_is_the_one_to_run_on(cuda: Any) -> None:
    kernel, tensors, (out,) = (
        kernel_of(SQUARE, GPU),
        on(0, DATA, WEIGHT),
        on(0, np.zeros_like(DATA)),
    )
    kernel(*tensors)
    stream = tvm.cuda(0).create_raw_stream()
    with Captured(cuda, stream) as captured, tvm_ffi.use_raw_stream(tvm.cuda(0), stream):
        kernel(*tensors, out=out)
    assert not out.numpy().any(), "what is captured does not run"
    captured.launch()
    assert_right(SQUARE, out.numpy(), [DATA, WEIGHT])


# -- PyTorch, or what we know of it ---------------------------------------------------------------


class Captured:
    """A stream of which is recorded, for a while, what is launched on it: a CUDA graph."""

    def __init__(self, cuda: Any, stream: Any) -> None:
        self._cuda, self._stream = cuda, ctypes.c_void_p(int(stream))
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


@pytest.fixture
def cuda() -> Any:
    return ctypes.CDLL("libcudart.so.13")


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


def test_it_runs_on_the_current_stream_of_pytorch(torch: FakeTorch, cuda: Any) -> None:
    kernel, inputs, out = kernel_of(SQUARE, GPU), torch_inputs(), torch_inputs()[0]
    kernel(*inputs)
    out.tensor.copyfrom(np.zeros_like(DATA))
    with Captured(cuda, torch._stream) as captured:
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


# -- constant weights -----------------------------------------------------------------------------


@cache
def preparing_kernel() -> Kernel:
    """A kernel whose program transposes the weights first."""
    data, weight, prepared = (te.placeholder((16, 16), name=name) for name in ("a", "b", "c"))
    k = te.reduce_axis((0, 16), "k")
    moved = te.compute((16, 16), lambda i, j: weight[j, i], "moved")
    product = te.compute((16, 16), lambda i, j: te.sum(data[i, k] * prepared[j, k], k), "product")
    functions = {
        "prepare": _on_threads("prepare", [weight, moved], "moved"),
        "main": _on_threads("main", [data, prepared, product], "product"),
    }
    return Kernel.build(CONSTANT, GPU, tvm.IRModule(functions))


def _on_threads(name: str, tensors: list[Any], block: str) -> Any:
    schedule = Schedule(te.create_prim_func(tensors))
    rows, columns, *_ = schedule.get_loops(schedule.get_sblock(block))
    schedule.bind(rows, "blockIdx.x")
    schedule.bind(columns, "threadIdx.x")
    return schedule.mod["main"].with_attr("global_symbol", name)


@pytest.fixture(params=["prepare", "no prepare"])
def constant(request: pytest.FixtureRequest) -> Kernel:
    """A kernel with constant weights, whose program has a function that lays them out or none."""
    return preparing_kernel() if request.param == "prepare" else kernel_of(CONSTANT, GPU)


def test_weights_are_prepared_anew_with_each_call(constant: Kernel) -> None:
    for inputs in ([DATA, WEIGHT], on(1, DATA, WEIGHT)):
        result = constant(*inputs)
        assert_right(
            CONSTANT,
            np.asarray(result.numpy() if inputs[0] is not DATA else result),
            [DATA, WEIGHT],
        )


def test_prepared_weights_stay_on_their_gpu(constant: Kernel) -> None:
    for weight, data in ((WEIGHT, DATA), (*on(1, WEIGHT), DATA), on(1, WEIGHT, DATA)):
        prepared = constant.prepare(weight)
        result = prepared(data)
        assert type(result) is type(data)
        assert_right(CONSTANT, result if data is DATA else result.numpy(), [DATA, WEIGHT])
        prepared.bind(data)()


def test_prepared_weights_and_arrays_on_two_gpus_are_refused(constant: Kernel) -> None:
    prepared = constant.prepare(on(1, WEIGHT)[0])
    with pytest.raises(UsageError, match=r"\Athe weights were prepared on GPU 1, .+ on GPU 0: .+"):
        prepared(*on(0, DATA))


def test_prepared_weights_are_copies(constant: Kernel) -> None:
    for weight in (WEIGHT.copy(), on(0, WEIGHT)[0]):
        prepared = constant.prepare(weight)
        weight[:] = np.full_like(WEIGHT, np.nan)
        assert_right(CONSTANT, prepared(DATA), [DATA, WEIGHT])


# -- what does not fit ----------------------------------------------------------------------------


def test_arrays_in_two_places_are_refused() -> None:
    kernel = kernel_of(SQUARE, GPU)
    (data, weight), (other,) = on(0, DATA, WEIGHT), on(1, WEIGHT)
    for inputs, out, message in (
        ((data, WEIGHT), None, r"weight is in main memory and data on GPU 0"),
        ((DATA, weight), None, r"weight is on GPU 0 and data in main memory"),
        ((data, other), None, r"weight is on GPU 1 and data on GPU 0"),
        ((data, weight), DATA.copy(), r"out is in main memory and data on GPU 0"),
        ((data, weight), other, r"out is on GPU 1 and data on GPU 0"),
    ):
        with pytest.raises(UsageError, match=rf"\A{message}: put all arrays in one place\Z"):
            kernel(*inputs, out=out)


def test_tensors_that_do_not_fit_are_refused() -> None:
    kernel, (data, weight) = kernel_of(SQUARE, GPU), on(0, DATA, WEIGHT)
    with pytest.raises(UsageError, match=r"\Adata must be float32 of shape .+, not float64 of .+"):
        kernel(*on(0, DATA.astype(np.float64)), weight)
    with pytest.raises(UsageError, match=r"\Aweight must be float32 of shape .+ \(8, 16\)\Z"):
        kernel(data, *on(0, WEIGHT[:8]))
    with pytest.raises(UsageError, match=r"\Amatmul takes 2 arrays \(data, weight\), not 1\Z"):
        kernel(data)
    with pytest.raises(UsageError, match=r"\Aout must be a NumPy array or a PyTorch tensor, not "):
        kernel(data, weight, out=_Elsewhere(data))
    with pytest.raises(UsageError, match=r"\Adata must be in main memory or on an NVIDIA GPU\Z"):
        kernel(OnlyDlpack(DATA, device=10), weight)


def test_a_kernel_for_a_processor_takes_no_tensors_on_a_gpu() -> None:
    with pytest.raises(UsageError, match=r"\Adata must be in main memory: copy it there from its"):
        kernel_of(SQUARE)(*on(0, DATA, WEIGHT))


def test_a_kernel_for_another_generation_is_refused_in_one_line() -> None:
    kernel = kernel_of(SQUARE, Target("cuda", arch="sm_80"))
    reason = r"\Athe kernel was compiled for sm_80, which GPU 0 .+ does not run: build it for that"
    for inputs in ((DATA, WEIGHT), on(0, DATA, WEIGHT)):
        with pytest.raises(TunesmithError, match=reason):
            kernel(*inputs)


def test_too_little_memory_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNESMITH_EMULATED_MEMORY", "1000")
    with pytest.raises(TunesmithError, match=r"\Athe call on GPU 0 failed: .*out of memory\Z"):
        kernel_of(SQUARE, GPU)(DATA, WEIGHT)


# -- programs of several kernels ------------------------------------------------------------------


def winograd_kernel(layer: Operator) -> Kernel:
    sketch = sketch_for(layer, GPU, "cuda_winograd")
    config = sketch.default(layer, GPU)
    return Kernel.build(layer, GPU, sketch.program(layer, GPU, config), config)


@pytest.mark.parametrize("constant_weights", [True, False])
def test_several_kernels_with_memory_between_them(constant_weights: bool) -> None:
    layer = conv2d(ci=3, h=6, w=6, co=4, kernel=3, padding=1, constant_weights=constant_weights)
    kernel = winograd_kernel(layer)
    data, weight = inputs_of(layer)
    for gpu in (0, 1):
        there = on(gpu, data, weight)
        assert_right(layer, kernel(*there).numpy(), [data, weight])
        if constant_weights:
            prepared = kernel.prepare(there[1])
            assert_right(layer, prepared(there[0]).numpy(), [data, weight])
    assert_right(layer, kernel(data, weight), [data, weight])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_kernel_for_tensor_cores(dtype: str) -> None:
    product = matmul(m=33, n=41, k=37, dtype=dtype, bias=True)
    sketch = sketch_for(product, GPU, "cuda_tensor_gemm")
    config = sketch.default(product, GPU)
    kernel = Kernel.build(product, GPU, sketch.program(product, GPU, config), config)
    inputs = inputs_of(product)
    assert_right(product, kernel(*inputs), inputs)
    there = on(1, *inputs)
    assert_right(product, kernel(*there).numpy(), inputs)


class Waits:
    """What one stream was made to wait for: pairs of streams."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pairs: list[tuple[int, int]] = []
        known = tvm.get_global_func
        monkeypatch.setattr(tvm, "get_global_func", lambda *names: self._found(known, *names))

    def _found(self, known: Any, name: str) -> Any:
        found = known(name)
        if name != "runtime.Device_StreamSyncFromTo":
            return found

        def wait(device: Any, before: int, after: int) -> None:
            self.pairs.append((before, after))
            found(device, before, after)

        return wait


def test_memory_between_kernels_is_in_use_on_one_stream_at_a_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    layer = conv2d(ci=3, h=6, w=6, co=4, kernel=3, padding=1, constant_weights=True)
    winograd_kernel(layer).save(tmp_path / "kernel.so")
    data, weight = on(0, *inputs_of(layer))
    device = tvm.cuda(0)
    first, second = (int(device.create_raw_stream()) for _ in range(2))
    changes = [(0, first), (first, second), (second, 0)]
    for kernel, inputs, expected in (
        (winograd_kernel(layer).prepare(weight), [data], changes),
        (Kernel.load(tmp_path / "kernel.so"), [data, weight], changes),
        (kernel_of(SQUARE, GPU), on(0, DATA, WEIGHT), []),
    ):
        kernel(*inputs)
        waits = Waits(monkeypatch)
        for stream in (first, first, second, 0, 0):
            with tvm_ffi.use_raw_stream(device, stream):
                kernel(*inputs)
        assert waits.pairs == expected
        monkeypatch.undo()
