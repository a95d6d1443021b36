"""Kernels for GPUs that lay out weights, or consist of several kernels, on two emulated GPUs."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import te
from tvm.s_tir import Schedule

from tests.kernels import DATA, SQUARE, WEIGHT, assert_right, inputs_of, kernel_of
from tests.on_gpus.gpus import GPU, on
from tunesmith.errors import UsageError
from tunesmith.kernel.kernel import Kernel
from tunesmith.operators import Operator, batch_matmul, conv2d, matmul
from tunesmith.sketches import sketch_for

CONSTANT = matmul(m=16, n=16, k=16, constant_weights=True)


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
        call = prepared.bind(data)
        call()
        assert isinstance(call, partial)
        assert_right(CONSTANT, call.args[-1].numpy(), [DATA, WEIGHT])


def test_prepared_weights_and_arrays_on_two_gpus_are_refused(constant: Kernel) -> None:
    prepared = constant.prepare(on(1, WEIGHT)[0])
    with pytest.raises(UsageError, match=r"\Athe weights were prepared on GPU 1, .+ on GPU 0: .+"):
        prepared(*on(0, DATA))


def test_prepared_weights_are_copies(constant: Kernel) -> None:
    for weight in (WEIGHT.copy(), on(0, WEIGHT)[0]):
        prepared = constant.prepare(weight)
        weight[:] = np.full_like(WEIGHT, np.nan)
        assert_right(CONSTANT, prepared(DATA), [DATA, WEIGHT])


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


@pytest.mark.parametrize("name", ["cuda_tensor_gemm", "cuda_wgmma_gemm"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_kernel_for_tensor_cores(name: str, dtype: str) -> None:
    product = matmul(m=33, n=41, k=37, dtype=dtype, bias=True)
    sketch = sketch_for(product, GPU, name)
    config = sketch.default(product, GPU)
    kernel = Kernel.build(product, GPU, sketch.program(product, GPU, config), config)
    inputs = inputs_of(product)
    assert_right(product, kernel(*inputs), inputs)
    there = on(1, *inputs)
    assert_right(product, kernel(*there).numpy(), inputs)


@pytest.mark.parametrize("transpose", ["NN", "NT", "TN"])
@pytest.mark.parametrize("pending", [0, 1])
def test_products_of_warpgroups_with_copies_that_run_ahead(transpose: str, pending: int) -> None:
    """Whole vectors in every layout of shared memory, and stages that are used again."""
    product = batch_matmul(b=2, m=128, n=96, k=264, transpose=transpose, dtype="bfloat16")
    sketch = sketch_for(product, GPU, "cuda_wgmma_gemm")
    tile = {"block_m": 128, "block_n": 96, "block_k": 64, "warpgroups": 2}
    config = sketch.default(product, GPU).replace(**tile, stages=3, pending=pending, splits=1)
    kernel = Kernel.build(product, GPU, sketch.program(product, GPU, config), config)
    inputs = inputs_of(product)
    assert_right(product, kernel(*inputs), inputs)


def split_kernel(product: Operator, name: str) -> Kernel:
    """One of whose sums four blocks share each."""
    sketch = sketch_for(product, GPU, name)
    config = sketch.default(product, GPU).replace(block_k=32, splits=4)
    return Kernel.build(product, GPU, sketch.program(product, GPU, config), config)


@pytest.mark.parametrize("name", ["cuda_tensor_gemm", "cuda_wgmma_gemm"])
def test_blocks_that_share_sums_leave_them_in_memory(name: str, tmp_path: Path) -> None:
    product = matmul(m=33, n=44, k=165, dtype="float16", bias=True, relu=True)
    built = split_kernel(product, name)
    built.save(tmp_path / "kernel.so")
    inputs = inputs_of(product)
    for kernel in (built, Kernel.load(tmp_path / "kernel.so")):
        assert_right(product, kernel(*inputs), inputs)
        for gpu in (0, 1):
            assert_right(product, kernel(*on(gpu, *inputs)).numpy(), inputs)


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
    product = matmul(m=16, n=16, k=128, dtype="float16")
    device = tvm.cuda(0)
    first, second = (int(device.create_raw_stream()) for _ in range(2))
    changes = [(0, first), (first, second), (second, 0)]
    for kernel, inputs, expected in (
        (winograd_kernel(layer).prepare(weight), [data], changes),
        (Kernel.load(tmp_path / "kernel.so"), [data, weight], changes),
        (split_kernel(product, "cuda_tensor_gemm"), on(0, *inputs_of(product)), changes),
        (kernel_of(SQUARE, GPU), on(0, DATA, WEIGHT), []),
    ):
        kernel(*inputs)
        waits = Waits(monkeypatch)
        for stream in (first, first, second, 0, 0):
            with tvm_ffi.use_raw_stream(device, stream):
                kernel(*inputs)
        assert waits.pairs == expected
        monkeypatch.undo()
