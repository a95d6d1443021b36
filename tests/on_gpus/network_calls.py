"""Whole networks for GPUs, on two emulated GPUs: each part of them runs there, kernel by kernel."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as real_torch
import tvm
import tvm_ffi

from tests.networks.gpu import assert_close, gpu_choices, model_of
from tests.networks.small import result_of
from tests.on_gpus.gpus import Captured, on
from tests.on_gpus.torch_calls import FakeTensor, FakeTorch
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.networks import CompiledNetwork, Network, from_torch, load
from tunesmith.networks.check import random_inputs
from tunesmith.target import Target

NAMES = ["residual", "transformer", "uncovered"]


@cache
def network_of(name: str) -> Network:
    model, example = model_of(name)
    return from_torch(model, example, "cuda")


@cache
def built(name: str) -> CompiledNetwork:
    network = network_of(name)
    return network.built(gpu_choices(network))


@cache
def expected(name: str) -> Any:
    """What PyTorch computes, on the CPU, of the example."""
    return result_of(*model_of(name))


def example(name: str) -> Any:
    return model_of(name)[1].numpy()


@pytest.mark.parametrize("name", NAMES)
def test_it_computes_what_pytorch_computes(name: str) -> None:
    found = built(name)(example(name))
    assert all(isinstance(each, np.ndarray) for each in (found if name == "uncovered" else [found]))
    assert_close(found, expected(name))


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_one_computes_the_same_on_the_other_gpu(name: str, tmp_path: Path) -> None:
    loaded = load(built(name).save(tmp_path / "net.so"))
    (data,) = on(1, example(name))
    for _ in range(2):
        found = loaded(data)
        each = found if isinstance(found, tuple) else (found,)
        assert {(it.device.dlpack_device_type(), it.device.index) for it in each} == {(2, 1)}
        assert_close(found, expected(name))


def test_its_build_is_compared_with_its_source() -> None:
    compiled = network_of("uncovered").build()
    assert compiled.unchecked is None
    assert compiled.relative_error is not None
    assert compiled.relative_error < 1e-5


def test_batches_share_their_weights() -> None:
    model, data = model_of("residual")
    network = from_torch(model, data, "cuda", batches=[1, 2])
    compiled = network.built(gpu_choices(network))
    for batch in (2, 1):
        (given,) = random_inputs([compiled.description.entry(batch).inputs[0]])
        assert_close(compiled(given), result_of(model, real_torch.from_numpy(given)))
    first, second = (entry.weights for entry in compiled.description.entries)
    assert set(first) & set(second), "biases are the same array"


def test_a_bound_call_waits_and_works_on_copies() -> None:
    (data,) = on(1, example("residual"))
    call = built("residual").bind(data)
    data.copyfrom(np.full(data.shape, np.nan, np.float32))
    call()
    with pytest.raises(UsageError, match="this network takes 1 inputs"):
        built("residual").bind()


def test_pytorch_gets_results_in_its_own_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, data = built("residual"), example("residual")
    want = expected("residual")
    stream = tvm.cuda(1).create_raw_stream()
    torch = FakeTorch(stream)
    monkeypatch.setitem(sys.modules, "torch", torch)
    inputs = FakeTensor(*on(1, data))
    cloned: list[Any] = []

    def clone(self: FakeTensor) -> FakeTensor:
        cloned.append(self)
        return FakeTensor(tvm.runtime.tensor(self.tensor.numpy(), self.device))

    monkeypatch.setattr(FakeTensor, "clone", clone)
    result = compiled(inputs)
    assert isinstance(result, FakeTensor)
    assert inputs.streams == [torch._stream]
    (of_tvm,) = cloned
    assert of_tvm.data_ptr() != result.data_ptr()
    assert_close(result.tensor, want)


def test_the_stream_of_tvm_is_the_one_to_run_on() -> None:
    compiled = built("residual")
    (data,) = on(0, example("residual"))
    stream = tvm.cuda(0).create_raw_stream()
    with tvm_ffi.use_raw_stream(tvm.cuda(0), stream):
        compiled(data)  # takes the memory and waits for other streams, neither to be recorded
    with Captured(stream) as captured, tvm_ffi.use_raw_stream(tvm.cuda(0), stream):
        result = compiled(data)
    result.copyfrom(np.zeros(result.shape, np.float32))
    captured.launch()
    assert_close(result, expected("residual"))


def test_indices_outside_of_their_table_are_refused_wherever_they_are() -> None:
    words = example("transformer")
    words[0, 1] = 10
    for wrong in (words, *on(1, words)):
        with pytest.raises(UsageError, match="words must be indices from 0 to 9, not from 0 to 10"):
            built("transformer")(wrong)


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match=r"\Adata must be float32 of shape \(1, 3, 6, 6\), not .+"):
        built("residual")(np.zeros((1, 3, 6, 7), np.float32))


def test_a_gpu_of_another_generation_is_named() -> None:
    model, data = model_of("uncovered")
    network = from_torch(model, data, Target("cuda", arch="sm_80"))
    compiled = network.build()
    reason = r"the kernel was compiled for sm_80, which GPU 0 .+ does not run: build it for sm_90"
    assert compiled.unchecked is not None
    with pytest.raises(TunesmithError, match=rf"\A{reason}\Z"):
        compiled(data)


def test_too_little_memory_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loaded = load(built("residual").save(tmp_path / "net.so"))
    monkeypatch.setenv("TUNESMITH_EMULATED_MEMORY", "1000")
    with pytest.raises(TunesmithError, match=r"\Athe call on GPU 0 failed: .*out of memory\Z"):
        loaded(example("residual"))
