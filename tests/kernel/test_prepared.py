"""Kernels with constant weights: prepared once, called without them, saved and loaded."""

from __future__ import annotations

import dataclasses
import gc
import json
import threading
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.kernels import (
    SQUARE,
    aligned,
    assert_right,
    foreign_processor,
    inputs_of,
    kernel_of,
    misaligned,
)
from tests.measure.trial.preparing_sketch import PreparingSketch
from tests.measure.trial.preparing_sketch import config as preparing_config
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.kernel.kernel import Kernel
from tunesmith.operators import Operator, conv2d, matmul, softmax
from tunesmith.sketches.cpu.tiled.sketch import CpuTiled
from tunesmith.target import Target

CONSTANT = conv2d(
    ci=4, h=9, w=7, co=16, kernel=3, padding=1, bias=True, relu=True, constant_weights=True
)
PLAIN = matmul(m=6, n=10, k=8, bias=True, constant_weights=True)


@cache
def packed_kernel() -> Kernel:
    """One whose weights are packed, by a function of the program."""
    sketch, target = CpuTiled(), Target()
    config = sketch.default(CONSTANT, target).replace(
        vectorize="f", tile_f=(1, 1, 16), tile_x=(7, 1, 1), pack_weight=True
    )
    return Kernel.build(CONSTANT, target, sketch.program(CONSTANT, target, config), config)


@cache
def plain_kernel() -> Kernel:
    """One whose program has no ``prepare``."""
    sketch, target = CpuTiled(), Target()
    config = sketch.default(PLAIN, target)
    return Kernel.build(PLAIN, target, sketch.program(PLAIN, target, config), config)


KERNELS = pytest.mark.parametrize(
    ("make", "operator"),
    [(packed_kernel, CONSTANT), (plain_kernel, PLAIN)],
    ids=["packed", "plain"],
)


# -- calls ----------------------------------------------------------------------------------------


@KERNELS
def test_a_prepared_kernel_takes_the_other_arrays(make: Any, operator: Operator) -> None:
    data, weight, bias = inputs_of(operator)
    prepared = make().prepare(weight)
    assert [argument.name for argument in prepared.arguments] == ["data", "bias"]
    for seed in range(3):
        data, _, bias = inputs_of(operator, seed)
        assert_right(operator, prepared(data, bias), [data, weight, bias])


@KERNELS
def test_the_kernel_itself_still_takes_the_weights(make: Any, operator: Operator) -> None:
    for seed in range(2):
        inputs = inputs_of(operator, seed)
        assert_right(operator, make()(*inputs), inputs)
        call = make().bind(*inputs)
        call()
        assert_right(operator, call.args[-1].numpy(), inputs)


@KERNELS
def test_each_preparation_keeps_its_own_weights(make: Any, operator: Operator) -> None:
    data, first, bias = inputs_of(operator)
    _, second, _ = inputs_of(operator, seed=1)
    kernel = make()
    one, other = kernel.prepare(first), kernel.prepare(second)
    expected = [data, first.copy(), bias]
    first[...] = np.nan  # what was given may change, and go
    del first, kernel
    gc.collect()
    assert_right(operator, other(data, bias), [data, second, bias])
    assert_right(operator, one(data, bias), expected)


@KERNELS
@pytest.mark.parametrize(
    "change", [misaligned, np.asfortranarray, lambda array: array[::-1].copy()[::-1]]
)
def test_weights_may_lie_in_memory_in_any_way(make: Any, operator: Operator, change: Any) -> None:
    data, weight, bias = inputs_of(operator)
    prepared = make().prepare(change(weight))
    assert_right(operator, prepared(data, bias), [data, weight, bias])


@KERNELS
def test_out_is_filled_and_returned(make: Any, operator: Operator) -> None:
    data, weight, bias = inputs_of(operator)
    prepared = make().prepare(weight)
    for out in (aligned(operator.result.shape), aligned(operator.result.shape, offset=4)):
        assert prepared(data, bias, out=out) is out
        assert_right(operator, out, [data, weight, bias])


@KERNELS
def test_a_bound_call_works_on_copies(make: Any, operator: Operator) -> None:
    data, weight, bias = inputs_of(operator)
    call = make().prepare(weight).bind(data, bias)
    expected = [array.copy() for array in (data, weight, bias)]
    for array in (data, weight, bias):
        array[...] = np.nan
    call()
    assert isinstance(call, partial)
    assert_right(operator, call.args[-1].numpy(), expected)


@KERNELS
def test_torch_tensors_give_a_tensor(make: Any, operator: Operator) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    inputs = inputs_of(operator)
    data, weight, bias = map(torch.from_numpy, inputs)
    result = make().prepare(weight.requires_grad_())(data, bias)
    assert isinstance(result, torch.Tensor)
    assert_right(operator, result.numpy(), inputs)


@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
def test_other_types_are_prepared(dtype: str) -> None:
    operator = matmul(m=4, n=16, k=8, dtype=dtype, constant_weights=True)
    kernel, (data, weight) = kernel_of(operator), inputs_of(operator)
    assert_right(operator, kernel.prepare(weight)(data), [data, weight])


def test_two_threads_prepare_and_call_at_once() -> None:
    kernel, wrong = packed_kernel(), []

    def work(seed: int) -> None:
        data, weight, bias = inputs_of(CONSTANT, seed)
        prepared = kernel.prepare(weight)
        for _ in range(20):
            try:
                assert_right(CONSTANT, prepared(data, bias), [data, weight, bias])
            except AssertionError as error:
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_prepared_kernel_says_what_it_is_and_cannot_be_changed() -> None:
    kernel = packed_kernel()
    prepared = kernel.prepare(inputs_of(CONSTANT)[1])
    assert repr(prepared) == f"PreparedKernel({CONSTANT.key})"
    assert (prepared.operator, prepared.target, prepared.config) == (
        CONSTANT,
        kernel.target,
        kernel.config,
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        prepared.operator = PLAIN  # type: ignore[misc]


# -- what does not fit ----------------------------------------------------------------------------


def test_weights_that_may_change_cannot_be_prepared() -> None:
    message = (
        r"\Athe weights of this matmul may change with each call: to prepare them, tune the "
        r"operator with constant_weights=True\Z"
    )
    with pytest.raises(UsageError, match=message):
        kernel_of(SQUARE).prepare(inputs_of(SQUARE)[1])


def test_an_operator_without_weights_says_so() -> None:
    operator = softmax(m=4, n=8)
    with pytest.raises(UsageError, match=r"\Asoftmax has no weights to prepare: call .+\Z"):
        kernel_of(operator).prepare(inputs_of(operator)[0])


@KERNELS
def test_weights_that_do_not_fit_are_refused(make: Any, operator: Operator) -> None:
    kernel = make()
    data, weight, _ = inputs_of(operator)
    for wrong, reason in [
        (data, r"must be float32 of shape \(.+\), not float32 of shape \(.+\)"),
        (weight.astype(np.float64), r"must be float32 of shape \(.+\), not float64 of shape .+"),
        (weight[None], r"must be float32 of shape \(.+\), not float32 of shape \(1, .+\)"),
        (weight.tolist(), r"must be an array \(NumPy or DLPack\), not list"),
        (None, r"must be an array \(NumPy or DLPack\), not NoneType"),
    ]:
        with pytest.raises(UsageError, match=rf"\Aweight {reason}\Z"):
            kernel.prepare(wrong)


def test_calling_with_the_weights_too_is_refused() -> None:
    inputs = inputs_of(CONSTANT)
    prepared = packed_kernel().prepare(inputs[1])
    message = r"\Aconv2d with prepared weights takes 2 arrays \(data, bias\), not 3\Z"
    for call in (prepared, prepared.bind):
        with pytest.raises(UsageError, match=message):
            call(*inputs)
    with pytest.raises(UsageError, match=r"\Adata must be float32 of shape .+\Z"):
        prepared(inputs[1], inputs[2])
    operator = matmul(m=4, n=16, k=8, constant_weights=True)
    with pytest.raises(UsageError, match=r" takes 1 array \(data\), not 0\Z"):
        kernel_of(operator).prepare(inputs_of(operator)[1])()


def test_a_kernel_for_another_processor_prepares_nothing_here() -> None:
    sketch, target = PreparingSketch(), Target(mcpu=foreign_processor())
    operator = matmul(m=5, n=6, k=7, constant_weights=True)
    program = sketch.program(operator, target, preparing_config("right"))
    kernel = Kernel.build(operator, target, program)
    with pytest.raises(TunesmithError, match=r"\Athe kernel was compiled for .+: compile it here"):
        kernel.prepare(inputs_of(operator)[1])


def test_what_a_program_leaves_unset_never_looks_right() -> None:
    sketch, target = PreparingSketch(), Target()
    operator = matmul(m=5, n=6, k=7, constant_weights=True)
    program = sketch.program(operator, target, preparing_config("unset"))
    data, weight = inputs_of(operator)
    kernel = Kernel.build(operator, target, program)
    for result in (kernel.prepare(weight)(data), kernel(data, weight)):
        assert np.isnan(result).any(axis=0).tolist() == [False] * 5 + [True]


def test_the_source_is_of_both_functions_or_of_one_alone() -> None:
    kernel = packed_kernel()
    whole, main, prepare = (kernel.source("asm", name) for name in (None, "main", "prepare"))
    names = ("main_compute_:", "prepare_compute_:")
    assert [name in whole for name in names] == [True, True]
    assert [name in main for name in names] == [True, False]
    assert [name in prepare for name in names] == [False, True]
    plain = plain_kernel()
    assert plain.source("ll", "main") == plain.source("ll")
    with pytest.raises(UsageError, match=r"no function prepare, but main$"):
        plain.source("ll", "prepare")
    with pytest.raises(UsageError, match=r"no function mian, but main and prepare$"):
        kernel.source("ll", "mian")


# -- files ----------------------------------------------------------------------------------------


@pytest.fixture
def saved(c_compiler: str, tmp_path: Path) -> Path:
    """The library of a kernel whose program has a ``prepare``."""
    return packed_kernel().save(tmp_path / "layer.so")[0]


def test_a_loaded_kernel_prepares_the_same(saved: Path) -> None:
    data, weight, bias = inputs_of(CONSTANT)
    loaded = Kernel.load(saved)
    expected = packed_kernel().prepare(weight)(data, bias)
    np.testing.assert_array_equal(loaded.prepare(weight)(data, bias), expected)
    np.testing.assert_array_equal(loaded(data, weight, bias), expected)


def test_the_description_tells_of_the_prepared_weights() -> None:
    described = packed_kernel().describe()
    assert described["format"] == 3
    assert described["prepared"] == {
        "name": "prepared",
        "shape": (1, 4, 3, 3, 16),
        "dtype": "float32",
    }
    assert [argument["name"] for argument in described["arguments"]] == ["data", "weight", "bias"]
    assert plain_kernel().describe()["prepared"] is None


@pytest.mark.parametrize(
    ("format", "without"), [(1, ["arch", "workspace", "prepared"]), (2, ["arch", "workspace"])]
)
def test_files_of_older_formats_are_read(
    c_compiler: str, tmp_path: Path, format: int, without: list[str]
) -> None:
    library, _, description = kernel_of(SQUARE).save(tmp_path / "old.so")
    old = json.loads(description.read_text())
    for name in without:
        del old[name]
    del old["target"]["arch"]
    description.write_text(json.dumps({**old, "format": format}))
    inputs = inputs_of(SQUARE)
    assert_right(SQUARE, Kernel.load(library)(*inputs), inputs)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": 4}, "has format 4, this version reads 1 to 3: save the kernel again"),
        ({"prepared": 7}, "does not describe a kernel: "),
        ({"prepared": {"name": "prepared"}}, "does not describe a kernel: it lacks 'shape'"),
        ({"prepared": {"name": "prepared", "shape": ["x"], "dtype": "float32"}}, "does not "),
    ],
)
def test_a_damaged_description_is_an_error_in_one_line(
    saved: Path, change: dict[str, Any], reason: str
) -> None:
    description = saved.with_suffix(".json")
    description.write_text(json.dumps({**json.loads(description.read_text()), **change}))
    with pytest.raises(TunesmithError, match=rf"\A\S+layer\.json {reason}.*\Z"):
        Kernel.load(saved)


def test_a_library_without_the_function_that_is_described_is_an_error(
    saved: Path, tmp_path: Path
) -> None:
    other, _, _ = kernel_of(SQUARE).save(tmp_path / "other.so")
    other.replace(saved)
    with pytest.raises(TunesmithError, match=r"\A\S+layer\.so is not a kernel's library: .+\Z"):
        Kernel.load(saved)
