"""Kernels for GPUs as callables over NumPy arrays and tensors, on two emulated GPUs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi

from tests.kernel.test_tensors import OnlyDlpack
from tests.kernels import BIASED, DATA, SQUARE, WEIGHT, assert_right, inputs_of, kernel_of
from tests.on_gpus.gpus import GPU, Captured, on
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.kernel import arrays
from tunesmith.target import Target

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


def test_the_stream_of_tvm_is_the_one_to_run_on() -> None:
    kernel, tensors, (out,) = (
        kernel_of(SQUARE, GPU),
        on(0, DATA, WEIGHT),
        on(0, np.zeros_like(DATA)),
    )
    kernel(*tensors)
    stream = tvm.cuda(0).create_raw_stream()
    with Captured(stream) as captured, tvm_ffi.use_raw_stream(tvm.cuda(0), stream):
        kernel(*tensors, out=out)
    assert not out.numpy().any(), "what is captured does not run"
    captured.launch()
    assert_right(SQUARE, out.numpy(), [DATA, WEIGHT])


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
    reason = r"\Athe kernel was compiled for sm_80, which GPU 0 .+ does not run: build it for sm_"
    for inputs in ((DATA, WEIGHT), on(0, DATA, WEIGHT)):
        with pytest.raises(TunesmithError, match=reason):
            kernel(*inputs)


def test_too_little_memory_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNESMITH_EMULATED_MEMORY", "1000")
    with pytest.raises(TunesmithError, match=r"\Athe call on GPU 0 failed: .*out of memory\Z"):
        kernel_of(SQUARE, GPU)(DATA, WEIGHT)
